// From a part of a commit to one document per touched group, encoded once. The projector of the stream and the replay
// of one group's history are the same function, so that every road to a sequence gives the same bytes.
//
// One event per record and part: the net effect of the record's changes. A commit comes as one part, or as several
// parts ordered by key in which no record stands twice, so that is one event per record and commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/commit.hpp"
#include "projection/group.hpp"
#include "projection/group_index.hpp"

namespace viewgate::projection {

/// What one part of a commit means to one group. `events` is a JSON array:
///   {"kind":"entered","key":[…],"record":{…}} {"kind":"updated","key":[…],"changed":{…}}, where the table declares
///   conflict groups with "groups":["…"],
///   {"kind":"removed_from_scope","key":[…]} {"kind":"deleted","key":[…]}
/// A commit that touches the group has exactly one of these with `last`; the parts before it come in order. The final
/// one may hold no event ("[]"), where only earlier parts touched the group.
struct GroupEvents {
  GroupPtr group;
  ledger::Position position;
  std::string events;
  std::string at;  ///< with `last`: the commit's time, as its provenance has it
  std::string
      request_id;  ///< with `last`: what a back-end has signed the commit with, or empty; not those of mutations
  std::uint32_t count = 0;
  bool first = true;
  bool last = true;
};

/// Owned by the tailer's thread. Parts of one space come in order; spaces may interleave.
class Projector {
 public:
  /// From the next commit of its space on. Returns the sequence of the last commit of that space that the group does
  /// not get here (0 = none was seen yet): its history up to there comes from the ledger. Adding a group twice changes
  /// nothing.
  ledger::Sequence add(const GroupPtr& group);
  void remove(const Digest& group);
  [[nodiscard]] bool contains(const Digest& group) const { return index_.contains(group) || joining_.contains(group); }
  [[nodiscard]] std::size_t size() const { return index_.size(); }

  /// One document for each group that this part touches, and, at the last part, for each that an earlier part touched.
  /// errc::malformed_record: the log is damaged; nothing of this commit may be delivered.
  [[nodiscard]] Result<std::vector<GroupEvents>> project(const ledger::CommitPart& part);

  /// The tailer starts anew in this space (reconnect, cut in the middle of a commit): what was open is forgotten.
  void reset(std::string_view space);

 private:
  struct Space {
    ledger::Sequence sequence;                                 ///< of the last part seen
    bool open = false;                                         ///< that part was not the last of its commit
    std::unordered_map<Digest, GroupPtr, DigestHash> touched;  ///< by earlier parts of the open commit
    std::vector<Digest> joining;                               ///< added while it is open
  };
  void begin_commit(Space& space);
  void end_part(Space& space, const ledger::CommitPart& part, std::vector<GroupEvents>& out);

  GroupIndex index_;
  std::unordered_map<Digest, GroupPtr, DigestHash> joining_;  ///< of all spaces
  std::map<std::string, Space, std::less<>> spaces_;
};

/// The history of one group: the same parts give the same bytes as the projector gave.
class Replay {
 public:
  explicit Replay(GroupPtr group) : group_(std::move(group)) {}

  /// Nothing: the part has no document for the group.
  [[nodiscard]] Result<std::optional<GroupEvents>> project(const ledger::CommitPart& part);

 private:
  GroupPtr group_;
  bool touched_ = false;  ///< by an earlier part of the open commit
};

}  // namespace viewgate::projection
