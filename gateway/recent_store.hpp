// The recent commits of all spaces that are followed, bounded together. Owned by the engine's thread.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/recent_commits.hpp"
#include "ledger/commit.hpp"

namespace viewgate::gateway {

class RecentStore {
 public:
  RecentStore(std::size_t space_bytes_max, std::size_t bytes_max)
      : space_bytes_max_(space_bytes_max), bytes_max_(bytes_max) {}

  /// Nothing is kept of the space but what will come after `begin`.
  void restart(const std::string& space, ledger::Position begin);
  void drop(const std::string& space);

  // Of a space that was begun; one that was not is passed over.
  void append(const ledger::CommitPartPtr& part);
  void prepend(const std::string& space, ledger::Position after, const std::vector<ledger::CommitPartPtr>& parts);
  void forget(const std::string& space, ledger::Sequence through);

  /// Null: nothing is known of the space.
  [[nodiscard]] const RecentCommits* find(const std::string& space) const;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    explicit Kept(std::size_t bytes_max) : commits(bytes_max) {}
    RecentCommits commits;
    std::size_t place = npos;  ///< in filled_; npos: nothing is kept of it
  };
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  template <class Change>
  void change(Kept& kept, const Change& change);
  void make_room();

  const std::size_t space_bytes_max_;
  const std::size_t bytes_max_;
  std::unordered_map<std::string, Kept> spaces_;
  std::vector<Kept*> filled_;  // those of which something is kept
  std::size_t next_ = 0;       // of filled_: whose turn it is to give its oldest
  std::size_t bytes_ = 0;
};

}  // namespace viewgate::gateway
