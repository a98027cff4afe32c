#include "projection/fixture.hpp"

#include <stdexcept>

namespace viewgate::testing {

using namespace projection;
using ledger::Change;
using ledger::ChangeKind;

Catalog demo_catalog() {
  CatalogTable accounts;
  accounts.schema = "public";
  accounts.name = "pgbench_accounts";
  accounts.columns = {{"aid", "int4"}, {"bid", "int4"}, {"abalance", "int4"}, {"filler", "bpchar"}};
  accounts.primary_key = {"aid"};
  accounts.capture = 42;
  accounts.space_column = "bid";
  CatalogTable odd;
  odd.schema = "public";
  odd.name = "odd";
  odd.columns = {{"id", "int8"},       {"space", "text"},
                 {"small", "int2"},    {"amount", "numeric"},
                 {"label", "varchar"}, {"flag", "bool"},
                 {"uid", "uuid"},      {"at", "timestamptz"},
                 {"due", "date"},      {"doc", "jsonb"},
                 {"\"A b\\", "text"},  {"folded", "text", false},
                 {"span", "interval"}, {"mood", "public.mood", true, {"sad", "ok", "happy"}},
                 {"tags", "_text"},    {"code", "bpchar"},
                 {"real4", "float4"},  {"real8", "float8"}};
  odd.primary_key = {"space", "id"};
  odd.capture = 43;
  odd.space_column = "space";
  CatalogTable heap;
  heap.schema = "public";
  heap.name = "heap";
  heap.columns = {{"a", "int4"}, {"s", "text"}};
  return Catalog{{accounts, odd, heap}};
}

ModelPtr parse_or_throw(std::string_view text, const Catalog& catalog) {
  ParsedModel parsed = parse_model(text, catalog);
  std::string all;
  for (const Problem& problem : parsed.problems) all += problem.text("model.sql") + "\n";
  if (!parsed.model) throw std::runtime_error(all);
  return parsed.model;
}

std::string problems_of(std::string_view text, const Catalog& catalog) {
  std::string out;
  for (const Problem& problem : parse_model(text, catalog).problems) {
    out += (out.empty() ? "" : "\n") + std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " +
           problem.message;
  }
  return out;
}

ModelPtr model_where(std::string_view columns, std::string_view select, std::string_view condition) {
  const std::string text = "create table r (" + std::string(columns) + ");\ncreate view v as select " +
                           std::string(select) + " from r where " + std::string(condition) +
                           ";\ncreate policy p on v using (true);";
  return parse_or_throw(text);
}

GroupPtr group_where(std::string_view columns, std::string_view select, std::string_view condition,
                     std::string_view params, std::string_view claims) {
  return projection::bind(*model_where(columns, select, condition), "v", params, claims, "s1").value().group;
}

std::optional<bool> decide(const Group& group, std::string_view record) {
  const auto parsed = Record::parse(group.table().layout, record);
  if (!parsed) throw std::runtime_error("not a record: " + std::string(record));
  const auto before = group.evaluation_errors();
  const bool inside = group.includes(*parsed);
  if (group.evaluation_errors() != before) return std::nullopt;
  return inside;
}

Change Make::created(std::string collection, std::string key, std::string after) {
  return {0, ChangeKind::created, std::move(collection), std::move(key), std::nullopt, std::move(after)};
}

Change Make::updated(std::string collection, std::string key, std::string before, std::string after) {
  return {0, ChangeKind::updated, std::move(collection), std::move(key), std::move(before), std::move(after)};
}

Change Make::deleted(std::string collection, std::string key, std::string before) {
  return {0, ChangeKind::deleted, std::move(collection), std::move(key), std::move(before), std::nullopt};
}

Change Make::moved(std::string collection, std::string key, std::string before) {
  return {0, ChangeKind::moved, std::move(collection), std::move(key), std::move(before), std::nullopt};
}

ledger::CommitPart Make::part(std::string space, std::int64_t sequence, std::vector<Change> changes) {
  ledger::CommitPart out;
  out.space = std::move(space);
  out.position = {ledger::Sequence{sequence}, ledger::Stamp{static_cast<std::uint64_t>(sequence) * 7 + 1}};
  out.changes = std::move(changes);
  for (std::size_t i = 0; i < out.changes.size(); ++i) out.changes[i].ordinal = static_cast<std::int64_t>(i);
  return out;
}

std::string events_of(Projector& projector, const ledger::CommitPart& part) {
  const auto projected = projector.project(part).value();
  if (projected.size() > 1) throw std::runtime_error("more than one group is touched");
  return projected.empty() ? "" : projected.front().events;
}

}  // namespace viewgate::testing
