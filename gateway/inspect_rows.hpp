// What an operator sees of each connection, group, view and space: what is read of it where it lives, and its JSON.
//
// Reading touches no counter and no buffer: it looks at what is there. Numbers of commits are texts, as in the protocol.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/connection.hpp"
#include "gateway/engine.hpp"
#include "gateway/inspect_page.hpp"
#include "gateway/json_object.hpp"
#include "gateway/subscription_plan.hpp"
#include "ledger/watchlist.hpp"

namespace viewgate::gateway {

/// How the subscriptions of one socket, or of many, are doing.
struct StreamsSight {
  std::array<std::size_t, stage_count> stages{};
  std::size_t behind = 0;  ///< not following, or of a socket that takes nothing of what there is for it
  std::size_t unwritten_bytes = 0;
  [[nodiscard]] std::size_t count() const;
  void add(const StreamsSight& other);
};
/// Looks at each subscription.
[[nodiscard]] StreamsSight streams_of(const Session& session);

/// A connection, in the words of an answer; all of it costs a few allocations, so rows are made for those that are shown.
class ConnectionSight {
 public:
  ConnectionSight(std::size_t reactor, const Connection& connection, Now now)
      : reactor_(reactor), connection_(connection), session_(connection.session()), now_(now) {
    if (session_ != nullptr) streams_ = streams_of(*session_);
  }

  [[nodiscard]] const StreamsSight& streams() const { return streams_; }
  [[nodiscard]] bool is_blocked() const { return session_ != nullptr && session_->blocked_since().has_value(); }
  /// What there is for the client and its socket has not taken.
  [[nodiscard]] std::size_t queue_bytes() const;
  /// "reactor-number": no other connection of this process has had it.
  [[nodiscard]] std::string id() const;
  [[nodiscard]] bool matches(std::string_view search) const;
  /// Orders: age (youngest first), queue_bytes, subscriptions, behind, principal, address.
  [[nodiscard]] RowPlace place(std::string_view sort) const;
  [[nodiscard]] std::string json() const;
  /// The same with its subscriptions, at most so many, and the claims of its token.
  [[nodiscard]] std::string whole_json() const;

  static constexpr std::size_t subscriptions_shown_max = 1000;

 private:
  [[nodiscard]] JsonObject members() const;

  const std::size_t reactor_;
  const Connection& connection_;
  const Session* const session_;
  const Now now_;
  StreamsSight streams_;
};

/// What the reactors have of a group, or of all groups of a view.
struct GroupUse {
  std::size_t groups = 0;  ///< on any reactor, counted on each
  std::size_t subscribers = 0;
  std::size_t ring_bytes = 0;
  void add(const GroupUse& other);
};
[[nodiscard]] GroupUse use_of(const LocalGroup& group);

[[nodiscard]] std::string hex(const GroupId& id);
[[nodiscard]] bool matches(const Engine::GroupSight& group, std::string_view search);
/// Orders: subscribers, documents, document_bytes, ring_bytes, view, space.
[[nodiscard]] RowPlace place_of(const Engine::GroupSight& group, const GroupUse& use, std::string_view sort);
[[nodiscard]] std::string json_of(const Engine::GroupSight& group, const GroupUse& use);

/// A view in one version.
struct ViewUse {
  std::size_t groups = 0;
  std::uint64_t documents = 0;
  std::uint64_t document_bytes = 0;
  std::uint64_t evaluation_errors = 0;
  GroupUse on_reactors;
};
[[nodiscard]] std::string json_of(const projection::View& view, const ViewUse& use);

/// Orders: lag_seconds, lag_commits, head, groups, recent_bytes, space.
[[nodiscard]] RowPlace place_of(const Engine::SpaceSight& space, const ledger::SpaceLag& lag, std::string_view sort);
[[nodiscard]] std::string json_of(const Engine::SpaceSight& space, const ledger::SpaceLag& lag);
[[nodiscard]] std::string json_of(const ledger::SpaceLag& lag);

}  // namespace viewgate::gateway
