#include "ledger/record_history.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "ledger/part_builder.hpp"

namespace viewgate::ledger {
namespace {

// Found before they are ordered: of a large log few rows are the record's. What a transaction of several statements did
// is in the order of places(), as for every reader of the log.
constexpr const char* history_sql = R"(
with matched as materialized (
  select h.part, h.counter, h.kind, h.before, h.after from viewgate.changes h
  where h.space = viewgate.space_key($1) and h.collection = $2 and h.key = $3
), carriers as materialized (
  select c.* from viewgate.commits c
  where c.space = viewgate.space_key($1) and c.sequence between $4::bigint and $5::bigint
    and c.part in (select m.part from matched m)
), placed as (
  select c.part, p.counter, p.place from carriers c cross join lateral viewgate.places(c.space, c.part) p
  where c.statements > 1 and (select count(*) from matched m where m.part = c.part) > 1
)
select c.sequence, c.stamp, c.source, c.role::text, to_char(c.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
       c.principal, c.client, c.request_id, m.kind, m.before, m.after
from carriers c
join matched m on m.part = c.part
left join placed p on p.part = m.part and p.counter = m.counter
order by c.sequence, coalesce(p.place, m.counter))";

constexpr const char* model_sql = R"(
select version, hash, to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from viewgate.model)";

enum Column {
  column_sequence,
  column_stamp,
  column_source,
  column_role,
  column_at,
  column_principal,
  column_client,
  column_request_id,
  column_kind,
  column_before,
  column_after
};

/// Rows of one commit become one part.
class CommitBuilder {
 public:
  CommitBuilder(const RecordQuestion& question, const std::function<bool(CommitPartPtr)>& on_commit)
      : question_(question), on_commit_(on_commit) {}

  bool add(const pg::Row& row) {
    const auto kind = change_kind_of(row.text(column_kind));
    is_corrupt_ = is_corrupt_ || !kind;
    if (is_corrupt_) return false;
    if (part_ && part_->position.sequence.value != row.integer(column_sequence) && !hand_on()) return false;
    const bool is_first = !part_;
    if (is_first) begin(row);
    Change& change = part_->changes.front();
    if (is_first) change.before = row.optional_string(column_before);
    change.kind = *kind;
    change.after = row.optional_string(column_after);
    return true;
  }

  bool hand_on() { return !part_ || on_commit_(std::exchange(part_, nullptr)); }

  [[nodiscard]] bool is_corrupt() const { return is_corrupt_; }

 private:
  void begin(const pg::Row& row) {
    part_ = std::make_shared<CommitPart>();
    part_->space = question_.space;
    part_->position = {Sequence{row.integer(column_sequence)},
                       Stamp{static_cast<std::uint64_t>(row.integer(column_stamp))}};
    part_->provenance.source = row.text(column_source);
    part_->provenance.role = row.text(column_role);
    part_->provenance.at = row.text(column_at);
    part_->provenance.principal = row.text(column_principal);
    part_->provenance.client = row.text(column_client);
    part_->provenance.request_id = row.text(column_request_id);
    Change& change = part_->changes.emplace_back();
    change.collection = question_.collection;
    change.key = question_.key;
  }

  const RecordQuestion& question_;
  const std::function<bool(CommitPartPtr)>& on_commit_;
  std::shared_ptr<CommitPart> part_;
  bool is_corrupt_ = false;
};

}  // namespace

pg::Task<LogReach> read_record_history(pg::Connection& connection, RecordQuestion question,
                                       std::function<bool(CommitPartPtr)> on_commit,
                                       std::chrono::milliseconds time_max) {
  // One snapshot, so that nothing is pruned between the horizon and what lies above it.
  std::vector<pg::Statement> statements(3);
  statements[0].sql = "begin isolation level repeatable read read only";
  statements[1].sql = "select retained_from from viewgate.spaces where space = viewgate.space_key($1)";
  statements[1].params.emplace_back(question.space);
  statements[2].sql = model_sql;
  auto begun = co_await connection.exec_all(std::move(statements), time_max);
  if (!begun) co_return begun.error();
  LogReach reach;
  const pg::Rows& horizon = (*begun)[1];
  const pg::Rows& model = (*begun)[2];
  reach.is_known = !horizon.empty();
  if (reach.is_known) reach.retained_from = Sequence{horizon[0].integer(0)};
  if (!model.empty()) {
    reach.model.version = model[0].integer(0);
    reach.model.hash = model[0].string(1);
    reach.model.since = model[0].string(2);
  }

  std::string sql = history_sql;
  pg::Params params;
  params.emplace_back(question.space);
  params.emplace_back(question.collection);
  params.emplace_back(question.key);
  params.emplace_back(std::to_string(reach.retained_from.value));
  params.emplace_back(std::to_string(question.through.value));
  CommitBuilder builder(question, on_commit);
  std::function<bool(const pg::Row&)> on_row = [&builder](const pg::Row& row) { return builder.add(row); };
  auto done = co_await connection.stream(std::move(sql), std::move(params), std::move(on_row), time_max);
  if (builder.is_corrupt()) {
    co_return Error{errc::log_corrupt, "", "space '" + question.space + "': a change is of an unknown kind"};
  }
  if (!done) co_return done.error();
  if (!builder.hand_on()) co_return Error{errc::rejected, "", "the rest of the history was not wanted"};
  auto ended = co_await connection.exec_script("commit", time_max);
  if (!ended) co_return ended.error();
  co_return reach;
}

}  // namespace viewgate::ledger
