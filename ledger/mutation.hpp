// The values of the write path of managed collections: what a client asks for, what it is told, and the seam through
// which the caller of the ledger says what may be written. The ledger knows no views and no claims.
//
//   MutationRequest ─► the space's lock ─► number what waits ─► read the records ─► per mutation: propose the record after
//     it ─► WriteRules::judge ─► commit with changes and receipt, or with the receipt of a refusal only ─► MutationAnswer
//
// A request is all-or-nothing: one mutation, or a batch that is one commit. Every processed request consumes one
// sequence and leaves one receipt, also when it changes nothing (no_op) or is refused for good (rejected). A replay, a
// gap, another body under a used number, another principal's client and what is malformed are not processed: they
// consume neither sequence nor number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/commit.hpp"
#include "ledger/conflict_group.hpp"

namespace viewgate::ledger {

/// create: a record that does not exist yet. update: some columns of one that does. put: the whole record, new or not.
/// remove (`delete` on the wire): one that exists.
enum class MutationKind : std::uint8_t { create, update, put, remove };

/// The version of a conflict group that the client has seen: the sequence of the last commit that changed it.
struct Base {
  std::string group;
  Sequence version;
};

struct Mutation {
  MutationKind kind = MutationKind::put;
  std::string collection;  ///< a managed one: no dot in its name, 1 to 200 bytes
  std::string key;         ///< JSON array of strings, numbers and booleans, at most 1000 bytes
  std::string value;  ///< JSON object: the whole record (create, put) or the columns to change (update); else empty
  /// The mutation conflicts where it changes one of these groups and that group moved since. No base, no conflict.
  /// Where the record does not exist, a base above 0 conflicts, too: the record was deleted since.
  std::vector<Base> bases;
};

struct MutationRequest {
  std::string space;
  std::string client;       ///< 1 to 200 bytes, chosen by the client; belongs to the principal that used it first here
  std::string principal;    ///< who the caller has authenticated
  std::int64_t number = 0;  ///< 1, 2, 3 … per client and space
  std::vector<Mutation> mutations;  ///< 1 to kMutationsMax
  std::string request_id;           ///< at most 200 bytes; may be empty
  std::string fields;               ///< free provenance: JSON object, or empty
  /// The request's canonical bytes, valid UTF-8: with other bytes under a used number the answer is sequence_conflict. They
  /// hold all proposed values and are part of the raw log.
  std::string body;
};

constexpr std::size_t kMutationsMax = 500;  ///< of one request

enum class Outcome : std::uint8_t { applied, no_op, rejected };

enum class RejectionReason : std::uint8_t {
  conflict,
  not_found,
  already_exists,
  forbidden,
  invalid_value,
  constraint,
  not_writable
};

[[nodiscard]] std::string_view name(MutationKind kind);       ///< as on the wire: create, update, put, delete
[[nodiscard]] std::string_view name(Outcome outcome);         ///< as on the wire
[[nodiscard]] std::string_view name(RejectionReason reason);  ///< as on the wire

struct Rejection {
  RejectionReason reason = RejectionReason::forbidden;
  std::string detail;  ///< constant, or names what is wrong; the client reads it
};

/// What a mutation comes to, for whoever may forbid it.
struct Proposal {
  const MutationRequest& request;
  const Mutation& mutation;
  std::string_view key;                    ///< canonical, as the record is stored under it
  std::optional<std::string_view> before;  ///< the record as PostgreSQL's jsonb text; none: there is no such record
  std::optional<std::string_view> after;   ///< the same after the mutation; none: it is deleted, or cannot be made
  /// What the ledger itself has found: not_found (update or delete of what is not there), already_exists, conflict. It
  /// stands unless judge() returns another.
  const std::optional<Rejection>& found;
};

/// What may be written: the caller's policies, types and conflict groups, bound to one request's principal. Called under
/// the space's lock, between two statements: pure, fast, without I/O. One object may serve many requests.
class WriteRules {
 public:
  virtual ~WriteRules() = default;
  /// The declared conflict groups of a collection; empty where none is declared. See ConflictGroup.
  [[nodiscard]] virtual const ConflictGroups& groups_of(std::string_view collection) const = 0;
  /// Nothing: as the ledger found it. A rejection: the whole request is rejected with it. Decides also where the ledger
  /// has found a fault, so that what must not be disclosed can be answered like what is not there.
  [[nodiscard]] virtual std::optional<Rejection> judge(const Proposal& proposal) const = 0;
};
using WriteRulesPtr = std::shared_ptr<const WriteRules>;

/// A request's durable receipt. `text` is the JSON that the client gets, byte by byte the same at each replay:
///   {"outcome":"applied","client":"c","number":"7","sequence":"12","acknowledgement":[
///     {"collection":"issues","key":[7],"kind":"updated","versions":{"record":"9","schedule":"12"}}]}
///   {"outcome":"rejected","client":"c","number":"8","sequence":"13","reason":"conflict","detail":"…","mutation":0,
///     "groups":{"schedule":"12"}}
/// One acknowledgement per mutation, in order; kind: created, updated, deleted, or unchanged; versions: of every group
/// that was ever changed, none for a deleted record. `mutation`: which one of the batch was refused. `groups`: for a
/// conflict, the groups that moved and their versions.
struct Receipt {
  std::string client;
  std::int64_t number = 0;
  Sequence sequence;  ///< of the commit that carries it
  Outcome outcome = Outcome::applied;
  std::string text;
};

/// What a request is answered with, where the database could be asked.
struct MutationAnswer {
  enum class Kind : std::uint8_t {
    receipt,            ///< processed now
    replay,             ///< processed before: the stored receipt
    sequence_gap,       ///< not processed: `expected` is the number that would be
    sequence_conflict,  ///< not processed: another request was processed under this number
    forbidden,          ///< not processed: the client id belongs to another principal
    receipt_pruned      ///< processed before, and the receipt is below the horizon
  };
  Kind kind = Kind::receipt;
  Receipt receipt;            ///< of receipt and replay
  std::int64_t expected = 0;  ///< of sequence_gap
};

}  // namespace viewgate::ledger
