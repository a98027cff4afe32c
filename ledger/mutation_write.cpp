#include "ledger/mutation_write.hpp"

#include <algorithm>

#include "ledger/planted.hpp"

namespace viewgate::ledger {
namespace {

constexpr const char* kOpen =
    "select what, nth, n, m, a, b, c from viewgate.open_mutations($1::text[], $2::int[], $3::text[], $4::bigint[], "
    "$5::text[], $6::int[], $7::text[], $8::text[], $9::text[], $10::bigint, $11)";

constexpr const char* kWrite =
    "select viewgate.write_mutations($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], "
    "$7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::int[], $13::text[], $14::text[], "
    "$15::text[], "
    "$16::text[], $17::text[], $18::text[], $19::int[], $20::text[], $21::text[], $22::text[], $23::text[], "
    "$24::boolean[])";

constexpr const char* kOpenOne =
    "select what, nth, n, m, a, b, c from viewgate.open_mutation($1, $2, $3::bigint, $4, $5, $6, $7::text[], "
    "$8::bigint, $9)";

constexpr const char* kWriteOne =
    "select viewgate.write_mutation($1, $2::bigint, $3, $4, $5::bigint, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
    "$15::text[], $16)";

constexpr const char* kLookUp =
    "select l.principal, l.last, c.sequence, c.receipt from viewgate.clients l "
    "left join viewgate.commits c on c.space = l.space and c.client = l.client and c.number = $3::bigint "
    "and c.sequence >= viewgate.retained_from($1) "
    "where l.space = viewgate.space_key($1) and l.client = $2";

using Texts = std::vector<std::optional<std::string>>;
using Numbers = std::vector<std::int64_t>;

/// SQL counts from 1.
std::int64_t place_of(std::size_t space) { return static_cast<std::int64_t>(space) + 1; }

std::optional<std::string> null_if_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::string letter_of(ChangeKind kind) {
  return kind == ChangeKind::created ? "c" : kind == ChangeKind::deleted ? "d" : "u";
}

void add_commits(pg::Params& params, const MutationPlan& plan) {
  Numbers of_space;
  Numbers sequences;
  Numbers changes;
  Texts principals;
  Texts clients;
  Numbers numbers;
  Texts request_ids;
  Texts fields;
  Texts receipts;
  Texts bodies;
  for (const PlannedCommit& commit : plan.commits) {
    of_space.push_back(place_of(commit.space));
    sequences.push_back(commit.sequence.value);
    changes.push_back(commit.changes);
    principals.emplace_back(commit.request->principal);
    clients.emplace_back(commit.request->client);
    numbers.push_back(commit.request->number);
    request_ids.push_back(null_if_empty(commit.request->request_id));
    fields.push_back(commit.fields);
    receipts.emplace_back(commit.receipt);
    bodies.emplace_back(commit.request->body);
  }
  for (const Numbers* each : {&of_space, &sequences, &changes}) params.emplace_back(pg::array_text(*each));
  params.emplace_back(pg::array_text(principals));
  params.emplace_back(pg::array_text(clients));
  params.emplace_back(pg::array_text(numbers));
  for (const Texts* texts : {&request_ids, &fields, &receipts, &bodies}) params.emplace_back(pg::array_text(*texts));
}

void add_changes(pg::Params& params, const MutationPlan& plan) {
  Numbers of_commit;
  Texts kinds;
  Texts collections;
  Texts keys;
  Texts befores;
  Texts afters;
  Texts groups;
  for (const PlannedChange& planned : plan.changes) {
    of_commit.push_back(planned.of_commit);
    kinds.emplace_back(letter_of(planned.change.kind));
    collections.emplace_back(planned.change.collection);
    keys.emplace_back(planned.change.key);
    befores.push_back(planned.change.before);
    afters.push_back(planned.change.after);
    groups.emplace_back(pg::array_text(planned.change.groups));
  }
  params.emplace_back(pg::array_text(of_commit));
  for (const Texts* texts : {&kinds, &collections, &keys, &befores, &afters, &groups}) {
    params.emplace_back(pg::array_text(*texts));
  }
}

void add_records(pg::Params& params, const MutationPlan& plan) {
  Numbers of_space;
  Texts collections;
  Texts keys;
  Texts values;
  Texts versions;
  Texts existed;
  for (const PlannedRecord& record : plan.records) {
    of_space.push_back(place_of(record.space));
    collections.emplace_back(record.collection);
    keys.emplace_back(record.key);
    values.push_back(record.text);
    versions.emplace_back(versions_text(record.versions));
    existed.emplace_back(record.existed ? "t" : "f");
  }
  params.emplace_back(pg::array_text(of_space));
  for (const Texts* texts : {&collections, &keys, &values, &versions, &existed}) {
    params.emplace_back(pg::array_text(*texts));
  }
}

/// One request of one mutation: what comes where one client writes.
bool is_single(const MutationBatch& batch) {
  return batch.requests.size() == 1 && batch.requests.front().request->mutations.size() == 1;
}

pg::Statement open_one(const MutationBatch& batch, const MutationBounds& bounds) {
  const MutationRequest& request = *batch.requests.front().request;
  const Mutation& mutation = request.mutations.front();
  pg::Statement out;
  out.sql = kOpenOne;
  for (const std::string* text : {&request.space, &request.client}) out.params.emplace_back(*text);
  out.params.emplace_back(std::to_string(request.number));
  for (const std::string* text : {&request.body, &mutation.collection, &mutation.key}) out.params.emplace_back(*text);
  out.params.emplace_back(pg::array_text(jsons_of(batch.requests)));
  out.params.emplace_back(std::to_string(bounds.effect_bytes_max));
  return out;
}

pg::Statement open_all(const MutationBatch& batch, const MutationBounds& bounds) {
  Numbers of_space;
  std::vector<std::string> clients;
  Numbers numbers;
  std::vector<std::string> bodies;
  Numbers mutation_space;
  std::vector<std::string> collections;
  std::vector<std::string> keys;
  for (const MutationToPlan& asked : batch.requests) {
    of_space.push_back(place_of(asked.space));
    clients.push_back(asked.request->client);
    numbers.push_back(asked.request->number);
    bodies.push_back(asked.request->body);
    for (const Mutation& mutation : asked.request->mutations) {
      mutation_space.push_back(place_of(asked.space));
      collections.push_back(mutation.collection);
      keys.push_back(mutation.key);
    }
  }
  pg::Statement out;
  out.sql = kOpen;
  out.params.emplace_back(pg::array_text(batch.spaces));
  out.params.emplace_back(pg::array_text(of_space));
  out.params.emplace_back(pg::array_text(clients));
  out.params.emplace_back(pg::array_text(numbers));
  out.params.emplace_back(pg::array_text(bodies));
  out.params.emplace_back(pg::array_text(mutation_space));
  out.params.emplace_back(pg::array_text(collections));
  out.params.emplace_back(pg::array_text(keys));
  out.params.emplace_back(pg::array_text(jsons_of(batch.requests)));
  out.params.emplace_back(std::to_string(bounds.effect_bytes_max));
  return out;
}

pg::Statement write_one(const MutationPlan& plan) {
  const PlannedCommit& commit = plan.commits.front();
  const MutationRequest& request = *commit.request;
  pg::Statement out;
  out.sql = kWriteOne;
  out.params = {request.space,
                std::to_string(commit.sequence.value),
                request.principal,
                request.client,
                std::to_string(request.number),
                null_if_empty(request.request_id),
                commit.fields,
                commit.receipt,
                request.body};
  if (plan.changes.empty()) {
    out.params.resize(16);
    return out;
  }
  const Change& change = plan.changes.front().change;
  out.params.emplace_back(letter_of(change.kind));
  out.params.emplace_back(change.collection);
  out.params.emplace_back(change.key);
  out.params.push_back(change.before);
  out.params.push_back(change.after);
  out.params.emplace_back(pg::array_text(change.groups));
  out.params.emplace_back(versions_text(plan.records.front().versions));
  return out;
}

pg::Statement write_all(const MutationBatch& batch, const MutationPlan& plan) {
  pg::Statement out;
  out.sql = kWrite;
  out.params.emplace_back(pg::array_text(batch.spaces));
  add_commits(out.params, plan);
  add_changes(out.params, plan);
  add_records(out.params, plan);
  return out;
}

}  // namespace

std::vector<pg::Statement> opening_of(const MutationBatch& batch, const MutationBounds& bounds, LockTimes times) {
  std::vector<pg::Statement> out;
  out.emplace_back().sql = "begin isolation level read committed";
  if (batch.spaces.size() > 1) {
    out.emplace_back().sql = "set local lock_timeout = " + std::to_string(times.shared_max.count());
    times.record_max = std::min(times.record_max, times.shared_max);
  }
  out.push_back(is_single(batch) ? open_one(batch, bounds) : open_all(batch, bounds));
  out.back().params.emplace_back(std::to_string(times.record_max.count()));
  return out;
}

MutationState state_of(const pg::Rows& rows, const MutationBatch& batch) {
  const std::vector<MutationToPlan>& requests = batch.requests;
  enum Column { what, nth, n, m, a, b, c };
  MutationState out;
  out.heads.resize(batch.spaces.size());
  out.processed.resize(requests.size());
  std::size_t mutations = 0;
  for (const MutationToPlan& asked : requests) mutations += asked.request->mutations.size();
  out.records.resize(mutations);
  out.jsons.resize(jsons_count(requests));
  for (int i = 0; i < rows.size(); ++i) {
    const pg::Row row = rows[i];
    const char kind = row.text(what).front();
    if (kind == 'h') {
      out.heads[static_cast<std::size_t>(row.integer(nth) - 1)] = Sequence{row.integer(n)};
    } else if (kind == 'c') {
      const auto space = static_cast<std::size_t>(row.integer(nth) - 1);
      out.clients.emplace(std::pair(space, row.string(a)), MutationState::Client{row.string(b), row.integer(n)});
    } else if (kind == 'r') {
      out.processed[static_cast<std::size_t>(row.integer(nth) - 1)] =
          MutationState::Processed{Sequence{row.integer(n)}, row.string(a), row.integer(m) == 1};
    } else if (kind == 'k') {
      MutationState::Record& record = out.records[static_cast<std::size_t>(row.integer(nth) - 1)];
      record.first = static_cast<std::size_t>(row.integer(n) - 1);
      record.is_withheld = row.integer(m) == 1;
      record.key = row.optional_string(a);
      record.text = row.optional_string(b);
      record.versions = versions_of(row.text(c));
    } else {
      out.jsons[static_cast<std::size_t>(row.integer(nth) - 1)] = row.optional_string(a);
    }
  }
  return out;
}

std::vector<pg::Statement> closing_of(const MutationBatch& batch, const MutationPlan& plan) {
  std::vector<pg::Statement> out;
  if (!plan.commits.empty()) out.push_back(is_single(batch) ? write_one(plan) : write_all(batch, plan));
  out.emplace_back().sql = is_planted("lose_commit") ? "rollback" : "commit";
  return out;
}

pg::Task<MutationAnswer> look_up(pg::Connection& connection, const MutationLookup& lookup,
                                 std::chrono::milliseconds time_max) {
  std::string sql = kLookUp;
  pg::Params params;
  params.emplace_back(lookup.space);
  params.emplace_back(lookup.client);
  params.emplace_back(std::to_string(lookup.number));
  auto rows = co_await connection.exec_prepared(std::move(sql), std::move(params), time_max);
  if (!rows) co_return rows.error();
  MutationAnswer answer;
  answer.kind = MutationAnswer::Kind::sequence_gap;
  answer.expected = 1;
  if (rows->empty()) co_return answer;
  const pg::Row row = (*rows)[0];
  answer.expected = row.integer(1) + 1;
  if (row.text(0) != lookup.principal) {
    answer.kind = MutationAnswer::Kind::forbidden;
    answer.expected = 0;
  } else if (lookup.number < answer.expected && row.is_null(2)) {
    answer.kind = MutationAnswer::Kind::receipt_pruned;
  } else if (lookup.number < answer.expected) {
    answer.kind = MutationAnswer::Kind::replay;
    answer.receipt.client = lookup.client;
    answer.receipt.number = lookup.number;
    answer.receipt.sequence = Sequence{row.integer(2)};
    answer.receipt.text = row.text(3);
    answer.receipt.outcome = outcome_of(answer.receipt.text);
  }
  co_return answer;
}

}  // namespace viewgate::ledger
