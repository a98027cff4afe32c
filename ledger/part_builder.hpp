// Turns rows of viewgate.read_log into commit parts of bounded size, and checks on the way what must hold of a log: the
// next sequence follows the last one, and a commit has as many changes as it says.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ledger/commit.hpp"
#include "ledger/error.hpp"
#include "ledger/pg/result.hpp"

namespace viewgate::ledger {

/// Reads the log for views: spaces, positions (sequences, stamps) after which, changes per space, bytes of a part. Without
/// the requests of mutations, which only readers of the raw log get. Commits with more changes or bytes than one part
/// should have are ordered by (collection, key, ordinal), and only those are cut into parts: between two changes of one
/// record no part may end, or an early one would show what a later one takes back.
constexpr const char* kReadForViews =
    "select * from viewgate.read_log($1::text[], $2::bigint[], $3::int, $4::bigint[], $5::bigint, false)";

/// The same; of a commit with more than so many changes only that it is there.
constexpr const char* kReadForViewsButLarge =
    "select * from viewgate.read_log($1::text[], $2::bigint[], $3::int, $4::bigint[], $5::bigint, false, $6::int)";

/// A commit of a million changes is sorted by the server before its first row comes, so one that reads the log may be silent for so
/// many times what any other statement may; a dead server is found by TCP.
inline constexpr int kReadSilenceShare = 6;

/// How far one reader of one space has come. A connection may break inside a commit: what was handed on of it is
/// remembered, so that the next read goes on where it was, or finds that the commit is another one.
struct Follower {
  Follower(std::string space_, Position position_) : space(std::move(space_)), position(position_) {}

  std::string space;
  Position position;               ///< the last commit that was handed on whole
  std::optional<Stamp> begun;      ///< the stamp of the next commit, where parts of it were handed on
  std::int64_t begun_changes = 0;  ///< how many of its changes
  std::optional<errc> fault;       ///< log_corrupt, history_diverged, history_erased: nothing more is handed on
  bool is_watched = true;          ///< set to false: nothing more is handed on
  bool is_large = false;           ///< the next commit was only told, since it is large: it is read apart
};
using FollowerPtr = std::shared_ptr<Follower>;

/// For kReadForViews; each follower's next commit comes however many changes it has.
[[nodiscard]] pg::Params read_log_params(std::span<const FollowerPtr> followers, std::size_t changes_max,
                                         std::size_t part_bytes_max);

/// Who reads. For views, a change whose values were erased is a fault (they cannot tell from it who was inside), and
/// changes of one record of which a part is too full become one: a view tells their net effect. Who reads the raw log
/// gets every change.
enum class ReadFor : std::uint8_t { views, raw_log };

/// From `changes.kind`. Nothing: the log is damaged.
[[nodiscard]] std::optional<ChangeKind> change_kind_of(std::string_view letter);

class PartBuilder {
 public:
  PartBuilder(std::size_t part_bytes_max, std::function<void(CommitPartPtr)> on_part, ReadFor reader = ReadFor::views);

  /// Rows of the follower's space are for it; rows of spaces that nobody follows are ignored.
  void follow(FollowerPtr follower);

  void add(const pg::Row& row);

  /// After the last row: a commit that is not complete is a fault.
  void finish();

  /// What was handed on so far.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void enter_space(std::string_view space);
  bool begin_commit(const pg::Row& row);
  void set_aside();
  void sign(const pg::Row& row);
  void append(const pg::Row& row);
  void merge(const pg::Row& row, ChangeKind kind);
  void hand_on(bool is_last);
  void fail(errc why);

  const std::size_t part_bytes_max_;
  const std::function<void(CommitPartPtr)> on_part_;
  const ReadFor reader_;
  std::map<std::string, FollowerPtr, std::less<>> followers_;

  std::string space_;
  FollowerPtr follower_;              ///< of space_; null: ignored
  bool is_aside_ = false;             ///< a commit of space_ was set aside: what follows it is not handed on
  std::unique_ptr<CommitPart> part_;  ///< being filled; null outside of a commit
  std::size_t part_bytes_ = 0;
  std::int64_t changes_ = 0;   ///< of the commit
  std::int64_t received_ = 0;  ///< of them
  std::int64_t skip_ = 0;      ///< of them, handed on before
  std::size_t bytes_ = 0;
};

}  // namespace viewgate::ledger
