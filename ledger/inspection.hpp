// What the database tells an operator of the deployment: which nodes follow the log, which commits a space has. Nothing of
// it is on anybody's way: connections of its own, a bounded number of rows, no values of records.
//
// Lives on the io_context's thread; callbacks come there, never inside the call. After stop() or destruction every call is
// answered `unavailable`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/commit.hpp"
#include "ledger/error.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

/// The name of a node's connection that follows the log, by which the others see it in pg_stat_activity.
[[nodiscard]] std::string tail_name(std::string_view node);

struct NodeSeen {
  std::string node;     ///< as its tail_name has it; may be empty
  std::string address;  ///< from where it is connected; empty: through a socket of the machine, or hidden from our role
  std::string since;    ///< RFC 3339; empty where it is hidden from our role
};

struct ChangeSeen {
  ChangeKind kind = ChangeKind::created;
  std::string collection;
  std::string key;  ///< JSON array
};

struct CommitSeen {
  Sequence sequence;
  Provenance provenance;
  std::int64_t changes = 0;
  std::vector<ChangeSeen> first;  ///< of the changes, by their counter; at most CommitsSeen::changes_max
};

struct CommitsSeen {
  static constexpr std::int64_t commits_max = 200;
  static constexpr std::int64_t changes_max = 20;

  Sequence head;
  Sequence retained_from;  ///< the first commit that is still there
  std::vector<CommitSeen> commits;
};

class Inspection {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;

  Inspection(boost::asio::io_context& io, std::string conninfo, std::chrono::milliseconds time_max);
  ~Inspection();
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  void nodes(Done<std::vector<NodeSeen>> done);

  /// The first `limit` commits after `after`, oldest first; where `after` is negative, the newest ones. A space that nobody
  /// has written to has head 0. Errors: unavailable, timeout.
  void commits(std::string space, std::int64_t after, std::int64_t limit, Done<CommitsSeen> done);

  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace viewgate::ledger
