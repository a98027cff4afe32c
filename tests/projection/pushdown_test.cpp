// Goal: what PostgreSQL is asked for a bootstrap is narrow where it can be, never raises, and quotes every literal.
// That it is a superset of the view is what the differential test shows.
#include <gtest/gtest.h>

#include "projection/fixture.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

ReadPlan plan_of(std::string_view view, std::string_view params, std::string_view claims, std::string_view space) {
  return read_plan(*projection::bind(*parse_or_throw(demo_model), view, params, claims, space).value().group);
}

TEST(Pushdown, the_views_of_the_demo_are_pushed_down_whole) {
  EXPECT_EQ(
      plan_of("overdrawn", "{}", "{}", "3").query(),
      R"(select to_jsonb(t.*)::text from "public"."pgbench_accounts" as t where (t."bid" = '3'::int4) and (t."abalance" < '0'::int4))");
  EXPECT_EQ(
      plan_of("watch", R"({"low":-10,"high":10})", R"({"digit":3})", "3").where,
      R"((t."bid" = '3'::int4) and ((t."abalance" <= '10'::int4) and ((t."aid" % '10'::int4) = '3'::int4) and (t."abalance" >= '-10'::int4)))");
  EXPECT_EQ(plan_of("overdrawn", "{}", "{}", "3").relation, R"("public"."pgbench_accounts")");
}

TEST(Pushdown, a_space_that_no_value_prints_as_is_empty) {
  for (const char* space : {"x", "03", " 3", "+3", "3.0", "2147483648", ""}) {
    EXPECT_EQ(plan_of("overdrawn", "{}", "{}", space).where, "false and (t.\"abalance\" < '0'::int4)") << space;
  }
}

struct Row {
  const char* condition;
  const char* where;  ///< behind the space's
};

/// A condition over public.odd.
std::string where_of(const char* condition) {
  const ModelPtr model = parse_or_throw(
      "create table o (like public.odd) with (space = 'space'); create view v as select id, space from o where " +
      std::string(condition) + "; create policy p on v using (true)");
  const std::string where =
      read_plan(*projection::bind(*model, "v", "{}", R"({"sub":"a'b\\c","list":["x","y"]})", "s1").value().group).where;
  const std::string space = "(t.\"space\" = 's1')";
  EXPECT_TRUE(where.starts_with(space)) << where;
  return where.size() > space.size() ? where.substr(space.size() + 5) : "true";
}

TEST(Pushdown, what_may_raise_is_left_to_the_evaluator) {
  for (const Row& each : std::initializer_list<Row>{
           {"label = claims.sub", R"((t."label" =  E'a''b\\c'::text))"},
           {"label < 'b'", R"((t."label" collate "C" < 'b'::text))"},
           {"label = any(claims.list)", R"((t."label" = any(array['x'::text, 'y'::text]::text[])))"},
           {"id in (1, 2, null)", R"((t."id" = any(array['1'::int8, '2'::int8, null::int8]::int8[])))"},
           {"small + 1 > 5", "true"},
           {"small + 1 > 5 and flag", R"((t."flag"))"},
           {"small + 1 > 5 or flag", "true"},
           {"not (small + 1 > 5 and flag)", "true"},
           {"not (small > 5 and flag)", R"((not (t."flag" and (t."small" > '5'::int4))))"},
           {"id % 0 = 1", "true"},
           {"id % -1 = 0", R"(((t."id" % '-1'::int4) = '0'::int4))"},
           {"10 % id = 1", "true"},
           {"label::int = 1", "true"},
           {"id::text = '5'", R"(((t."id")::text collate "C" = '5'::text))"},
           {"at::text = 'x'", "true"},
           {"at > '0044-03-15 00:00:00+00 BC'", R"((t."at" > '0044-03-15 00:00:00+00 BC'::timestamptz))"},
           {"amount > 'NaN'", R"((t."amount" > 'NaN'::numeric))"},
           {"amount < 'Infinity'", "true"},
           {"id > 1.5", R"(((t."id")::numeric > '15e-1'::numeric))"},
           {"uid is null or uid is distinct from 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
            R"(((t."uid" is distinct from 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid) or (t."uid" is null)))"},
           {"real8 > 1.5", R"((t."real8" > '1.5e+00'::float8))"},
           {"real4 = 0.1", R"(((t."real4")::float8 = '1e-01'::float8))"},
           {"amount > real8", "true"},
           {"due > '2024-01-01'", R"((t."due" > '2024-01-01'::date))"},
           {"mood = 'ok'", R"((t."mood"::text = 'ok'::text))"},
           {"mood > 'ok'", "true"},
           {"label like 'a%'", R"((t."label" like 'a%'::text))"},
           {"label ilike 'a%'", R"((t."label" collate "C" ilike 'a%'::text))"},
           {"lower(label) = 'a'", R"((lower(t."label" collate "C") collate "C" = 'a'::text))"},
           {"label ~ 'a'", "true"},
           {"code = 'a '", R"((t."code" = 'a'::bpchar))"},
           {"tags && array['a', claims.sub]", R"((t."tags" && array['a'::text,  E'a''b\\c'::text]::text[]))"},
           {"'a' = any(tags)", R"(('a'::text collate "C" = any(t."tags")))"},
           {"doc @> '{\"a\":1}'", R"((t."doc" @> '{"a": 1}'::jsonb))"},
           {"not doc @> '{}'", R"((not (nullif(t."doc", 'null'::jsonb) @> '{}'::jsonb)))"},
           {"doc ->> 'a' = 'x'", R"(((nullif(t."doc", 'null'::jsonb) ->> 'a'::text) collate "C" = 'x'::text))"},
           {"(doc ->> 'a')::int = 5", "true"},
           {"doc is null", R"((nullif(t."doc", 'null'::jsonb) is null))"},
           {"coalesce(small, 5) = 5", R"((coalesce(t."small", '5'::int4) = '5'::int4))"},
           {"case when flag then id else small end = 5",
            R"(((case when t."flag" then t."id" else t."small" end) = '5'::int4))"},
           {"(flag or small > 3) is not true", R"(((t."flag" or (t."small" > '3'::int4)) is not true))"},
           {"\"\"\"A b\\\" = 'x'", R"((t."""A b\" = 'x'::text))"}}) {
    EXPECT_EQ(where_of(each.condition), each.where) << each.condition;
  }
}

TEST(Pushdown, pages_go_in_key_order) {
  const ReadPlan demo = plan_of("overdrawn", "{}", "{}", "3");
  EXPECT_TRUE(demo.page("", 100).ends_with(" order by t.\"aid\" limit 100"));
  EXPECT_TRUE(demo.page("[17]", 100).ends_with(R"( and (t."aid") > ('17'::int4) order by t."aid" limit 100)"))
      << demo.page("[17]", 100);
  const ModelPtr odd = parse_or_throw(
      "create table o (like public.odd) with (space = 'space'); create view v as select id, space from o; create "
      "policy p on v using (true)");
  const ReadPlan plan = read_plan(*projection::bind(*odd, "v", "{}", "{}", "s1").value().group);
  EXPECT_TRUE(
      plan.page(R"(["it's", 5])", 2)
          .ends_with(R"( and (t."space", t."id") > ('it''s'::text, '5'::int8) order by t."space", t."id" limit 2)"));
}

TEST(Pushdown, managed_collections_are_read_by_space_and_collection) {
  const ReadPlan plan = read_plan(*group_where("id int primary key", "id", "id > 5"));
  EXPECT_EQ(plan.query(),
            "select t.value::text from viewgate.records as t where t.space = viewgate.space_key('s1') and t.collection "
            "= 'r'");
  EXPECT_EQ(plan.relation, "");
  EXPECT_TRUE(plan.page("[\"it's\"]", 5).ends_with(" and t.key > '[\"it''s\"]' order by t.key limit 5"));
}

}  // namespace
}  // namespace viewgate::testing
