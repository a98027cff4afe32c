// The values of the ledger: what a commit is, once it is numbered. Immutable, no I/O, safe to share between threads.
//
// A *space* is the consistency boundary: its commits are numbered 1, 2, 3 … without gaps, and visibility order is
// number order. A commit holds changes with ordinals 0..n-1, each with the record before and after as the JSON text
// that PostgreSQL produced (never parsed and printed again).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace viewgate::ledger {

/// A commit's number in its space; 0 = before the first commit. Never an index, never a byte offset.
struct Sequence {
  std::int64_t value = 0;
  friend auto operator<=>(Sequence, Sequence) = default;
  [[nodiscard]] Sequence next() const { return Sequence{value + 1}; }
};

/// The random 64-bit mark of a commit. Two histories that gave one number to different commits differ in it.
/// The stamp of sequence 0 is 0.
struct Stamp {
  std::uint64_t value = 0;
  friend auto operator<=>(Stamp, Stamp) = default;
};

/// A place in a space's log, with the mark that proves which history it belongs to.
struct Position {
  Sequence sequence;
  Stamp stamp;
  friend auto operator<=>(Position, Position) = default;
};

/// What happened to one record. `moved`: the row still exists but belongs to another space (or none) now; for this
/// space it has a `before` and no `after`, like `deleted`, but it is not a tombstone.
/// `erased`: its values were taken out of the history, and what happened is not told any more. Only the raw log hands it on.
enum class ChangeKind : std::uint8_t { created, updated, deleted, moved, erased };

/// One change of one record. Texts are JSON as PostgreSQL's to_jsonb(…)::text wrote it.
struct Change {
  std::int64_t ordinal = 0;  ///< 0..n-1 inside the commit
  ChangeKind kind = ChangeKind::created;
  std::string collection;             ///< "schema.table" of a captured table, or a managed collection's name
  std::string key;                    ///< JSON array of the primary key's columns, for example [42] or ["a", 7]
  std::optional<std::string> before;  ///< JSON object; absent for created and erased
  std::optional<std::string> after;   ///< JSON object; absent for deleted, moved and erased
  std::vector<std::string> groups{};  ///< the conflict groups that it moved; empty for captured tables
};

/// Where a commit came from.
struct Provenance {
  std::string source;        ///< "capture", "append" or "mutation"
  std::string role;          ///< the database role of the writing session
  std::string at;            ///< the writer's transaction time, RFC 3339 text in UTC, as PostgreSQL wrote it
  std::string principal{};   ///< of a mutation; empty for the others
  std::string client{};      ///< of a mutation; empty for the others
  std::string request_id{};  ///< the mutation's, or what the back-end gave to viewgate.tag; may be empty
  std::string fields{};      ///< free fields of the caller: JSON object, or empty
};

/// The receipt that a mutation's commit carries; its client and principal are in the provenance.
struct CommitReceipt {
  std::int64_t number = 0;  ///< of the client's requests in this space
  std::string text;         ///< JSON, byte by byte what the client was answered
  std::string body;         ///< the request, with all proposed values: only readers of the raw log get it
};

/// One commit, whole. What `Store::pull` returns.
struct Commit {
  std::string space;
  Position position;
  Provenance provenance;
  std::vector<Change> changes;             ///< may be empty; ordinals 0..n-1
  std::optional<CommitReceipt> receipt{};  ///< of a mutation; the others have none
};

/// A piece of one commit, bounded in bytes: what travels from the tailer to projection, so that a commit of a million
/// changes is never held whole. Small commits (nearly all) are one part with first == last == true.
/// Invariants: the parts of a commit follow each other with no other commit of the space between them. `by_key`:
/// changes are ordered by (collection, key, ordinal) instead of by ordinal. All changes of one record are in one part: a
/// commit that is not `by_key` is one part. A change that stands for several of its record has the first one's before,
/// and of the last one everything else.
struct CommitPart {
  std::string space;
  Position position;
  Provenance provenance;
  std::vector<Change> changes;
  bool first = true;
  bool last = true;
  bool by_key = false;
  std::optional<CommitReceipt> receipt{};  ///< of a mutation; in the last part
};
using CommitPartPtr = std::shared_ptr<const CommitPart>;

/// What these hold of memory, in bytes: all their texts and themselves.
[[nodiscard]] std::size_t bytes_of(const Change& change);
[[nodiscard]] std::size_t bytes_of(const Provenance& provenance);
[[nodiscard]] std::size_t bytes_of(const CommitReceipt& receipt);
[[nodiscard]] std::size_t bytes_of(const CommitPart& part);

/// The seed's page: whole commits, the cursor after the last one (the given cursor when empty), and whether more waits.
struct PullPage {
  std::vector<Commit> commits;
  Sequence next_cursor;
  bool has_more = false;
};

}  // namespace viewgate::ledger
