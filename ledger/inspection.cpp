#include "ledger/inspection.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "ledger/part_builder.hpp"
#include "ledger/pg/pool.hpp"
#include "ledger/settled.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;

constexpr std::size_t connections_max = 2;
constexpr std::string_view tail = "viewgate tail";
constexpr std::size_t name_bytes_max = 63;  // PostgreSQL cuts longer ones

// Roles see the names of all sessions, and of their own role's where they come from.
constexpr const char* nodes_sql = R"(
select application_name, coalesce(host(client_addr), ''),
       coalesce(to_char(backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')
from pg_stat_activity
where datname = current_database() and (application_name = $1 or starts_with(application_name, $1 || ' '))
order by application_name, pid
limit 1000)";

constexpr const char* head_sql = R"(
select viewgate.watermark($1), viewgate.retained_from($1))";

// One row per change that is shown, one for a commit without any. The limits are inside, so neither a long log nor a large
// commit is read.
constexpr const char* commits_sql = R"(
with shown as materialized (
  select c.* from viewgate.commits c
  where c.space = viewgate.space_key($1) and c.sequence > $2::bigint order by c.sequence limit $3::bigint
)
select c.sequence, c.source, c.role::text, to_char(c.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), c.principal,
       c.client, c.request_id, c.changes, h.kind, h.collection, h.key
from shown c
left join lateral (
  select h.kind, h.collection, h.key, h.counter from viewgate.changes h
  where h.space = c.space and h.part = c.part order by h.counter limit $4::bigint
) h on true
order by c.sequence, h.counter)";

enum Column {
  column_sequence,
  column_source,
  column_role,
  column_at,
  column_principal,
  column_client,
  column_request_id,
  column_changes,
  column_kind,
  column_collection,
  column_key
};

CommitSeen commit_of(const pg::Row& row) {
  CommitSeen out;
  out.sequence = Sequence{row.integer(column_sequence)};
  out.provenance.source = row.string(column_source);
  out.provenance.role = row.string(column_role);
  out.provenance.at = row.string(column_at);
  out.provenance.principal = row.string(column_principal);
  out.provenance.client = row.string(column_client);
  out.provenance.request_id = row.string(column_request_id);
  out.changes = row.integer(column_changes);
  return out;
}

std::vector<CommitSeen> commits_of(const pg::Rows& rows) {
  std::vector<CommitSeen> out;
  for (int i = 0; i < rows.size(); ++i) {
    const pg::Row row = rows[i];
    const Sequence sequence{row.integer(column_sequence)};
    if (out.empty() || out.back().sequence != sequence) out.push_back(commit_of(row));
    const auto kind = row.is_null(column_kind) ? std::nullopt : change_kind_of(row.text(column_kind));
    if (kind) out.back().first.push_back({*kind, row.string(column_collection), row.string(column_key)});
  }
  return out;
}

NodeSeen node_of(const pg::Row& row) {
  NodeSeen out;
  out.node = row.text(0).substr(std::min(row.text(0).size(), tail.size() + 1));
  out.address = row.string(1);
  out.since = row.string(2);
  return out;
}

}  // namespace

std::string tail_name(std::string_view node) {
  std::string out(tail);
  if (!node.empty()) out.append(" ").append(node);
  return out.substr(0, name_bytes_max);
}

struct Inspection::State {
  State(asio::io_context& io, std::string conninfo, std::chrono::milliseconds time_max_)
      : executor(io.get_executor()),
        time_max(time_max_),
        pool(executor, pg::connect_options(std::move(conninfo), "viewgate inspector", time_max_), connections_max) {}

  static pg::Task<std::vector<NodeSeen>> read_nodes(std::shared_ptr<State> self) {
    auto lease = co_await self->pool.acquire(self->time_max);
    if (!lease) co_return lease.error();
    pg::Params params(1, std::string(tail));
    auto rows = co_await (*lease)->exec(nodes_sql, std::move(params), self->time_max);
    if (!rows) co_return rows.error();
    std::vector<NodeSeen> out;
    out.reserve(static_cast<std::size_t>(rows->size()));
    for (int i = 0; i < rows->size(); ++i) out.push_back(node_of((*rows)[i]));
    co_return out;
  }

  static pg::Task<CommitsSeen> read_commits(std::shared_ptr<State> self, std::string space, std::int64_t after,
                                            std::int64_t limit) {
    auto lease = co_await self->pool.acquire(self->time_max);
    if (!lease) co_return lease.error();
    pg::Params of_space(1, space);
    auto heads = co_await (*lease)->exec(head_sql, std::move(of_space), self->time_max);
    if (!heads) co_return heads.error();
    CommitsSeen out;
    out.head = Sequence{(*heads)[0].integer(0)};
    out.retained_from = Sequence{(*heads)[0].integer(1)};
    if (after < 0) after = std::max<std::int64_t>(out.head.value - limit, 0);
    if (after >= out.head.value) co_return out;
    pg::Params params;
    params.emplace_back(std::move(space));
    for (const std::int64_t each : {after, limit, CommitsSeen::changes_max}) params.emplace_back(std::to_string(each));
    auto rows = co_await (*lease)->exec(commits_sql, std::move(params), self->time_max);
    if (!rows) co_return rows.error();
    out.commits = commits_of(*rows);
    co_return out;
  }

  template <class T>
  static asio::awaitable<void> run(pg::Task<T> task, Done<T> done) {
    done(co_await settled(std::move(task)));
  }

  const asio::any_io_executor executor;
  const std::chrono::milliseconds time_max;
  pg::Pool pool;
};

Inspection::Inspection(asio::io_context& io, std::string conninfo, std::chrono::milliseconds time_max)
    : state_(std::make_shared<State>(io, std::move(conninfo), time_max)) {}
Inspection::~Inspection() { stop(); }

void Inspection::stop() { state_->pool.close(); }

void Inspection::nodes(Done<std::vector<NodeSeen>> done) {
  spawn(state_->executor, State::run(State::read_nodes(state_), std::move(done)));
}

void Inspection::commits(std::string space, std::int64_t after, std::int64_t limit, Done<CommitsSeen> done) {
  const auto bounded = std::clamp<std::int64_t>(limit, 1, CommitsSeen::commits_max);
  spawn(state_->executor, State::run(State::read_commits(state_, std::move(space), after, bounded), std::move(done)));
}

}  // namespace viewgate::ledger
