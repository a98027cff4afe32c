// The seam between the engine (one thread: tail, groups, bootstraps) and the reactors (a thread each: sockets). What crosses
// it is an immutable value posted to the other side's loop; nothing else is shared. In the simulator both sides run in one
// thread and the posts are the simulator's to delay and to order between links (never within one).
//
// The way of a commit: Tailer -> Engine::on_part -> Projector -> Delivery per reactor -> ring of each group -> sockets.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gateway/byte_budget.hpp"
#include "gateway/protocol.hpp"
#include "gateway/spill.hpp"
#include "ledger/commit.hpp"
#include "ledger/error.hpp"
#include "ledger/mutation.hpp"
#include "ledger/ports.hpp"

namespace viewgate::gateway {

struct ActiveModel;  // gateway/active_model.hpp: model, catalog, cursor keys; immutable, replaced as a whole
struct GroupSpec;    // gateway/active_model.hpp: binding, space, group id, channel, cursor key of the group

using GroupSpecPtr = std::shared_ptr<const GroupSpec>;
using ActiveModelPtr = std::shared_ptr<const ActiveModel>;

/// 128-bit identity of (space, view version, bound predicate, columns); equal on every node.
struct GroupId {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const GroupId&, const GroupId&) = default;
};

struct GroupIdHash {
  std::size_t operator()(const GroupId& id) const noexcept {
    std::size_t out = 0;  // the id is a digest: any eight bytes of it are a hash
    for (std::size_t i = 0; i < sizeof(out); ++i) out = out << 8 | id.bytes[i];
    return out;
  }
};

/// The documents of one group that belong to one commit (or one progress), each ended by a newline, in order; shared by all
/// reactors. Always all of them: a commit that is too much for that is told as history, at each reader's pace. The position
/// carries the stamp because a reader that falls off its ring asks history from here.
struct GroupFrame {
  GroupId group;
  ledger::Position position;
  std::string text;
  std::int64_t committed_us =
      0;  ///< the writer's transaction time, in microseconds of the Unix epoch; 0: not of a commit
};
using GroupFramePtr = std::shared_ptr<const GroupFrame>;

/// A receipt that came through the log: for those sockets of its client that have a view of the space.
struct LoggedReceipt {
  std::string space;
  ledger::Sequence sequence;
  std::string client_key;  ///< client_key_of its principal and client
  std::string text;
};
using LoggedReceiptPtr = std::shared_ptr<const LoggedReceipt>;

/// What one turn of the engine sends to one reactor: the frames of the groups that it has joined, and how far each of its
/// spaces has been projected (frames first: `heads` hold once they are in the rings).
struct Delivery {
  std::vector<GroupFramePtr> frames;
  std::vector<std::pair<std::string, ledger::Position>> heads;
  std::vector<LoggedReceiptPtr> receipts;  ///< of commits up to `heads`
  std::set<std::string> lost;              ///< client keys of which receipts were dropped before
  bool all_lost = false;                   ///< of any client
};

/// Documents for one subscriber (or several with the same need): what lies between its position and the ring.
struct History {
  std::string text;            ///< complete documents of the group, each ended by a newline; may be empty
  SpilledTextsPtr spilled;     ///< those that follow, where they are too much for memory; else null
  ledger::Position through;    ///< all commits up to here are in the documents (or did not touch the group)
  std::string position_token;  ///< sealed `through`
  bool is_told = false;        ///< the last document moves the cursor to `through`
  ByteCharge charge;           ///< for `text`
};

/// A bootstrap, complete: snapshot documents in chunks of bounded size, shared by everyone who asked for the group. Each is
/// one or more complete documents, each ended by a newline.
struct SnapshotChunks {
  ledger::Position at;
  std::string position_token;                              ///< sealed `at`
  std::vector<std::shared_ptr<const std::string>> chunks;  ///< those in memory come first
  SpilledTextsPtr spilled;                                 ///< null: that is all

  [[nodiscard]] std::size_t bytes() const {
    std::size_t out = spilled ? spilled->bytes() : 0;
    for (const auto& each : chunks) out += each->size();
    return out;
  }
};

/// Why a history or bootstrap could not be had.
struct Refusal {
  std::variant<ResetReason, ErrorCode> why;
  std::chrono::milliseconds retry_after{0};  ///< with an ErrorCode
};

using HistoryReply = std::variant<std::shared_ptr<const History>, Refusal>;
using BootstrapReply = std::variant<std::shared_ptr<const SnapshotChunks>, Refusal>;

/// A mutation on its way to the ledger.
struct MutationCall {
  ledger::MutationRequest request;
  ledger::WriteRulesPtr rules;
};
using MutationReply = ledger::Result<ledger::MutationAnswer>;

using ReceiptsReply = ledger::Result<ledger::ReceiptsPage>;

/// What the engine tells a reactor. Called on the reactor's thread, in the order in which the engine posted.
class ReactorPort {
 public:
  virtual ~ReactorPort() = default;
  /// The group is followed: every frame above `head` will be delivered from now on.
  virtual void on_joined(const GroupId& group, ledger::Position head) = 0;
  virtual void on_delivery(std::shared_ptr<const Delivery> delivery) = 0;
  /// Values of commits up to `through` were erased: what is kept of them is handed to nobody any more.
  virtual void on_erased(const std::string& space, ledger::Sequence through) = 0;
  /// The group's state is void (history broken, view or capture changed): its subscribers start anew under the model in
  /// force. The engine has forgotten the group.
  virtual void on_reset(const GroupId& group, ResetReason reason) = 0;
  virtual void on_notice(NoticeKind kind) = 0;
  virtual void on_model(ActiveModelPtr model) = 0;
  /// The verifier refuses tokens that it accepted before: sessions of theirs end.
  virtual void on_revoked() = 0;
  /// An issuer's keys were asked for again, or the table is another: tokens that wait for keys are looked at once more.
  virtual void on_keys() = 0;
};

/// What a reactor asks of the engine; thread-safe, posts to the engine's loop. Callbacks come on the reactor's thread, in
/// order with the ReactorPort's calls. `reactor` is the index the engine knows the port by.
class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual void join(std::size_t reactor, GroupSpecPtr group) = 0;
  virtual void leave(std::size_t reactor, GroupId group) = 0;
  /// What lies after `after`, bounded in bytes: ask again until `through` is inside the ring.
  virtual void history(std::size_t reactor, GroupId group, ledger::Position after,
                       std::function<void(HistoryReply)> reply) = 0;
  /// `principal`: whose turn it is to wait for; empty: nobody's in particular.
  virtual void bootstrap(std::size_t reactor, GroupId group, std::string principal,
                         std::function<void(BootstrapReply)> reply) = 0;
  /// A text that is not in the page cache. The reply is absent where the disk failed.
  virtual void spilled(std::size_t reactor, SpilledTextsPtr texts, std::size_t index,
                       std::function<void(std::optional<std::string>)> reply) = 0;
  virtual void mutate(std::size_t reactor, MutationCall call, std::function<void(MutationReply)> reply) = 0;
  virtual void receipts(std::size_t reactor, ledger::ReceiptsQuery query, std::function<void(ReceiptsReply)> reply) = 0;
};

}  // namespace viewgate::gateway
