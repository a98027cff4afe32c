// What projection costs: a commit that touches one group among a thousand or a million, what an idle group holds, joining
// and leaving, and the evaluator over typical predicates. Built with the tests, run by hand (release build):
//
//   projection_bench [--benchmark_filter=…]
#include <benchmark/benchmark.h>
#include <malloc.h>

#include "projection/binding.hpp"
#include "projection/model_parser.hpp"
#include "projection/projector.hpp"

namespace viewgate::projection {
namespace {

constexpr const char* model_text = R"(
create table issues (id int8 primary key, title text, status text, assignee text, priority int4, archived boolean,
                     opened timestamptz, doc jsonb, tags text[]);
create view mine as select id, title, status from issues where assignee = claims.sub and status = 'open';
create view ranges as select id, title from issues where priority >= params.low and priority < params.high;
create view beside as select id, title from issues
  where status = params.status and assignee = claims.sub and priority >= params.low and priority < params.high;
create view equal as select id from issues where status = 'open';
create view two as select id from issues where assignee = claims.sub and status = 'open';
create view choice as select id from issues
  where priority between 2 and 4 or status in ('new', 'blocked', 'waiting') or assignee is null;
create view words as select id from issues where title ilike '%urgent%' and not archived and opened >= '2024-01-01';
create view inside as select id from issues where (doc ->> 'estimate')::int > 3 and tags && array['ui', 'api'];
create policy p1 on mine using (true); create policy p2 on ranges using (true); create policy p3 on equal using (true);
create policy p4 on two using (true); create policy p5 on choice using (true); create policy p6 on words using (true);
create policy p7 on inside using (true); create policy p8 on beside using (true);
)";

const Model& model() {
  static const ModelPtr parsed = parse_model(model_text, Catalog{}).model;
  return *parsed;
}

std::string claims_of(std::int64_t user) { return "{\"sub\":\"user" + std::to_string(user) + "\"}"; }

GroupPtr mine_of(std::int64_t user) {
  return projection::bind(model(), "mine", "{}", claims_of(user), "s1").value().group;
}

std::string record(std::int64_t id, std::int64_t user, std::string_view title) {
  return "{\"id\": " + std::to_string(id) +
         ", \"doc\": {\"kind\": \"bug\", \"estimate\": 5}, \"tags\": [\"api\", \"db\"], " + "\"title\": \"" +
         std::string(title) + "\", \"opened\": \"2024-05-06T07:08:09+00:00\", \"status\": \"open\", " +
         "\"archived\": false, \"assignee\": \"user" + std::to_string(user) + "\", \"priority\": 3}";
}

ledger::CommitPart commit(std::int64_t sequence, std::int64_t user) {
  ledger::CommitPart out;
  out.space = "s1";
  out.position = {ledger::Sequence{sequence}, ledger::Stamp{static_cast<std::uint64_t>(sequence)}};
  ledger::Change change;
  change.kind = ledger::ChangeKind::updated;
  change.collection = "issues";
  change.key = "[7]";
  change.before = record(7, user, "before");
  change.after = record(7, user, "after");
  out.changes.push_back(std::move(change));
  return out;
}

/// Filled once for each size: a million groups take seconds.
Projector& projector_with(std::int64_t groups) {
  static std::map<std::int64_t, std::unique_ptr<Projector>> all;
  std::unique_ptr<Projector>& out = all[groups];
  if (out) return *out;
  all.clear();
  std::unique_ptr<Projector>& fresh = all[groups];
  fresh = std::make_unique<Projector>();
  for (std::int64_t user = 0; user < groups; ++user) fresh->add(mine_of(user));
  return *fresh;
}

void commits_that_touch_one_group(benchmark::State& state) {
  Projector& projector = projector_with(state.range(0));
  std::vector<ledger::CommitPart> parts;
  // Spread over all groups, and as many for few groups: what is compared is the groups' memory, not the commits'.
  for (std::int64_t i = 0; i < 65'536; ++i) parts.push_back(commit(i + 1, i * 15'485'863 % state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    const auto events = projector.project(parts[next++ % parts.size()]);
    if (events.value().size() != 1) state.SkipWithError("not one group is touched");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(commits_that_touch_one_group)->Arg(1)->Arg(1'000)->Arg(1'000'000);

/// Of ranges, ten hold the record's priority; beside them, where the view has such, equalities that all groups share.
void commits_that_touch_ten_ranges(benchmark::State& state, const char* view, const char* params) {
  const std::int64_t groups = state.range(0);
  Projector projector;
  for (std::int64_t i = 0; i < groups; ++i) {
    const std::int64_t low = i < 10 ? 3 : 100 + i, high = low + 1 + (i < 10 ? i : i % 7);
    const std::string range = "\"low\":" + std::to_string(low) + ",\"high\":" + std::to_string(high);
    projector.add(
        projection::bind(model(), view, "{" + std::string(params) + range + "}", claims_of(1), "s1").value().group);
  }
  const ledger::CommitPart part = commit(1, 1);
  for (auto _ : state) {
    const auto events = projector.project(part);
    if (events.value().size() != 10) state.SkipWithError("not ten groups are touched");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(commits_that_touch_ten_ranges, alone, "ranges", "")->Arg(1'000)->Arg(100'000);
BENCHMARK_CAPTURE(commits_that_touch_ten_ranges, beside_equalities, "beside", "\"status\":\"open\",")
    ->Arg(1'000)
    ->Arg(100'000);

/// What a group holds beyond the values that it was bound to (here one text that needs no memory of its own).
void memory_of_idle_groups(benchmark::State& state) {
  for (auto _ : state) {
    Projector projector;
    const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (std::int64_t user = 0; user < state.range(0); ++user) projector.add(mine_of(user));
    const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    const auto groups = static_cast<double>(state.range(0));
    state.counters["bytes_per_group"] = static_cast<double>(after - before) / groups;
    state.counters["of_values"] = static_cast<double>(sizeof(Value) + 16);
  }
}
BENCHMARK(memory_of_idle_groups)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

void binding_a_subscription(benchmark::State& state) {
  std::int64_t user = 0;
  for (auto _ : state) benchmark::DoNotOptimize(mine_of(user++));
}
BENCHMARK(binding_a_subscription);

void joining_and_leaving(benchmark::State& state) {
  Projector& projector = projector_with(state.range(0));
  std::vector<GroupPtr> groups;
  for (std::int64_t i = 0; i < 1000; ++i) groups.push_back(mine_of(state.range(0) + i));
  std::size_t next = 0;
  for (auto _ : state) {
    const GroupPtr& group = groups[next++ % groups.size()];
    projector.add(group);
    projector.remove(group->id());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(joining_and_leaving)->Arg(1'000)->Arg(1'000'000);

/// Cutting a record and deciding about it.
void evaluating(benchmark::State& state, const char* view) {
  const GroupPtr group = projection::bind(model(), view, "{}", claims_of(5), "s1").value().group;
  const std::string text = record(7, 5, "quite urgent, this one");
  bool inside = true;
  for (auto _ : state) {
    const auto cut = Record::parse(group->table().layout, text);
    inside = inside && group->includes(*cut);
  }
  if (!inside) state.SkipWithError("the record is outside");
}
BENCHMARK_CAPTURE(evaluating, equality, "equal");
BENCHMARK_CAPTURE(evaluating, two_equalities, "two");
BENCHMARK_CAPTURE(evaluating, range_or_list, "choice");
BENCHMARK_CAPTURE(evaluating, words_and_time, "words");
BENCHMARK_CAPTURE(evaluating, jsonb_and_array, "inside");

}  // namespace
}  // namespace viewgate::projection

BENCHMARK_MAIN();
