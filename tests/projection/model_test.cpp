// Goal: a model error names its place and what would be right, and all problems of a file come at once.
// Method: a table of texts and the exact first lines they give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "projection/expression_text.hpp"
#include "projection/fixture.hpp"
#include "projection/word_count.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Model, the_demo_model_is_read) {
  const ModelPtr model = parse_or_throw(demo_model);
  const ViewPtr watch = model->view("watch");
  ASSERT_TRUE(watch);
  ASSERT_EQ(watch->parameters.size(), 2U);
  EXPECT_EQ(watch->parameters[0].name, "high");
  EXPECT_EQ(watch->parameters[0].type.type, Type::int4);
  EXPECT_EQ(watch->claims, (std::vector<std::string>{"digit", "sub"}));
  EXPECT_EQ(watch->table->collection, "public.pgbench_accounts");
  EXPECT_EQ(watch->table->capture, 42);
  EXPECT_EQ(model->view("nothing"), nullptr);
  EXPECT_EQ(referenced_tables(demo_model), (std::vector<TableName>{{"public", "pgbench_accounts", "bid", 2, 29}}));
}

/// A view over a table with a column of each type, where the condition stands in line 2 from column 1 on.
std::string with_condition(std::string_view condition) {
  return "create table o (like public.odd) with (space = 'space'); create view v as select id, space from o where\n" +
         std::string(condition);
}

struct Refusal {
  const char* text;
  const char* problem;  ///< how it begins
};

TEST(Model, a_condition_that_is_not_allowed_is_refused_at_its_place) {
  for (const Refusal& each : std::initializer_list<Refusal>{
           {"nothing = 1", "2:1: o has no column nothing; it has id, space, small"},
           {"id = 1 and span is null",
            "2:12: the column span has the type interval, which may be selected but not used"},
           {"doc < '{}'", "2:5: jsonb has no order here; compare a part of it"},
           {"mood = 'glad'", "2:8: invalid input for type public.mood: 'glad'; its labels are 'sad', 'ok', 'happy'"},
           {"mood = label", "2:6: a comparison between public.mood and text; cast one of them"},
           {"code = label", "2:6: a comparison between character and text; cast one of them, for example ::text"},
           {"code like 'a%'", "2:6: LIKE on character(n)"},
           {"label like 'a\\'", "2:7: a LIKE pattern that ends with the escape character"},
           {"label like 'a' escape 'b'", "2:7: ESCAPE is not supported"},
           {"label ~ params.x", "2:9: the pattern of ~ is a text written in the model"},
           {"label ~ '(?=a)'", "2:9: the pattern '(?=a)': (?…) other than (?:…); lookaround is not supported"},
           {"label ~ '\\1'", "2:9: the pattern '\\1': \\1 is not supported"},
           {"label ~ '\\é'", "2:9: the pattern '\\é': \\é is not supported"},
           {"label ~ 'a**'", "2:9: the pattern 'a**': a repetition of a repetition"},
           {"label ~ '[[:alpha:]]'", "2:9: the pattern '[[:alpha:]]': [: :], [. .] and [= =] are not supported"},
           {"label similar to 'a'", "2:7: SIMILAR TO is not supported; write ~"},
           {"tags = array['a']", "2:6: an array in a comparison, for whose bounds"},
           {"tags[1] = 'a'", "2:1: a subscript (an array's lower bound"},
           {"tags @> 'a'", "2:6: @> between an array and unknown; write array"},
           {"lower(id) = 'a'", "2:1: there is no lower(bigint); there is lower(text); cast the arguments"},
           {"label || id = 'a'", "2:7: || on bigint; it takes texts, for example ::text"},
           {"tags @> array[1]", "2:6: @> between text[] and integer[]; cast one of them, for example ::text[]"},
           {"array[1] <@ claims.n::numeric[]",
            "2:10: <@ between integer[] and numeric[]; cast one of them, for example ::numeric[]"},
           {"claims.n::int8[] && array[1]",
            "2:18: && between bigint[] and integer[]; cast one of them, for example ::bigint[]"},
           {"id == 1", "2:4: the operator == is not supported; write ="},
           {"substring(label from 'a') = 'a'", "2:1: substring with a pattern is not supported; write ~"},
           {"current_date > at",
            "2:1: a function of the session or the clock is not supported; compare with a parameter"},
           {"current_user = label",
            "2:1: a function of the session or the clock is not supported; who asks stands in the token: write "
            "claims.x"},
           {"doc #>> '{a,b}' = 'x'", "2:5: the operator #>> is not supported; write -> and ->> step by step"},
           {"(id, small) = (1, 2, 3)", "2:13: rows of 2 and 3 values"},
           {"coalesce(id, label) = 1", "2:1: COALESCE between bigint and text"},
           {"case when id then 1 end = 1", "2:11: the condition of CASE must be boolean, not bigint"},
           {"real8 % 2 = 1", "2:7: % on double precision; cast to numeric"},
           {"label collate \"de\" = 'a'", "2:7: COLLATE \"de\" is not supported; texts compare by"},
           {"folded = 'a'", "2:1: the column folded has the type text (nondeterministic collation)"},
           {"label = 'é' and nothing", "2:17: o has no column nothing"},
           {"id = 'abc'", "2:6: invalid input for type bigint: 'abc'"},
           {"small = 70000::int2", "2:14: the value is out of range for type smallint"},
           {"at > 'today'", "2:6: invalid input for type timestamp with time zone: 'today'; written as"},
           {"uid = 'x'", "2:7: invalid input for type uuid: 'x'"},
           {"label = 5", "2:7: a comparison between text and integer; cast one of them"},
           {"flag = 1", "2:6: a comparison between boolean and integer"},
           {"uid = label", "2:5: a comparison between uuid and text"},
           {"id", "2:1: the condition must be boolean, not bigint"},
           {"flag and id", "2:10: an operand of AND must be boolean, not bigint"},
           {"not label", "2:5: the operand of NOT must be boolean, not text"},
           {"label + 1 = 2", "2:7: arithmetic on text; it takes numbers, and days with dates"},
           {"flag + flag = 2", "2:6: arithmetic on boolean; it takes numbers"},
           {"- label = 'a'", "2:1: a sign before text; it takes a number"},
           {"id = 1 / 0", "2:8: division by zero"},
           {"flag::int8 = 1", "2:5: there is no cast from boolean to bigint"},
           {"id::date is null", "2:3: there is no cast from bigint to date"},
           {"id::interval is null", "2:5: a cast to interval is not supported, since an interval has no one length"},
           {"real8::text = '1'", "2:6: there is no cast from double precision to text, since a record's text does not"},
           {"amount::numeric(10,2) = 1", "2:9: a cast with a length or precision is not supported; write ::numeric"},
           {"id::int[] = 1", "2:3: there is no cast from bigint to integer[]"},
           {"params.x = params.y",
            "2:10: a comparison between values without a type (params.x); cast one, for example params.x::text"},
           {"params.x = claims.sub", "2:10: a comparison between values without a type (params.x)"},
           {"params.x is null", "2:1: nothing here gives params.x a type; cast it, for example params.x::int"},
           {"params.x + params.y = 1",
            "2:10: an operator between values without a type; cast one, for example params.x::int"},
           {"id = params.x or small = params.x",
            "2:26: params.x is smallint here and bigint before; cast it to one type"},
           {"id = any(5)", "2:10: ANY and ALL take an array: a column, claims.x, params.x"},
           {"id = params.x::int8[]",
            "2:4: an array in a comparison, for whose bounds a record has no place; write = any(…)"},
           {"space.id = 1", "2:1: space.id is not known; a space has only space.name"},
           {"other.id = 1", "2:1: other.id is not known; allowed are a column, params.x, claims.x and space.name"},
           {"a.b.c = 1", "2:1: a name of 3 parts; allowed are a column, params.x, claims.x and space.name"},
           {"now() > at", "2:1: the function now() is not supported; compare with a parameter"},
           {"md5(label) = ''", "2:1: the function md5() is not supported; functions are lower"},
           {"random() > 0.5", "2:1: the function random() is not supported"},
           {"current_timestamp > at", "2:1: a function of the session or the clock is not supported"},
           {"id between symmetric 1 and 2", "2:4: BETWEEN SYMMETRIC is not supported; write BETWEEN least"},
           {"id in (select 1)", "2:4: a subquery is not supported"},
           {"id = $1", "2:6: a numbered parameter is not supported"},
           {"id operator(pg_catalog.=) 1", "2:4: an operator with a schema is not supported"},
           {"flag = b'1'", "2:8: a bit string is not supported"},
           {"id = = 1", "2:6: syntax error at or near \"=\""},
           {"label = 'é' and id = 'open", "2:22: unterminated quoted string at or near \"'open\""}}) {
    EXPECT_THAT(problems_of(with_condition(each.text)), StartsWith(each.problem)) << each.text;
  }
}

TEST(Model, a_statement_that_is_not_allowed_is_refused_at_its_place) {
  for (const Refusal& each : std::initializer_list<Refusal>{
           {"drop table x",
            "1:1: a statement that is not part of a model (DropStmt); allowed are create table, create view and create "
            "policy"},
           {"\n  -- a comment\n  select 1", "3:3: a statement that is not part of a model (SelectStmt)"},
           {"create table a (like public.nothing) with (space = 'x')",
            "1:22: the database has no table public.nothing"},
           {"create table a (like odd) with (space = 'x')",
            "1:22: like odd; name the schema too, for example public.odd"},
           {"create table a (like public.odd)", "1:22: with (space = 'column') is missing"},
           {"create table a (like public.odd) with (space = 'x')",
            "1:22: public.odd has no column x, which the option space names"},
           {"create table a (like public.odd) with (space = 'label')",
            "1:22: public.odd is captured with the space space, not label"},
           {"create table a (like public.odd) with (space = 'space', fillfactor = 10)",
            "1:57: the option fillfactor of a captured table; allowed is space = 'column'"},
           {"create table a (like public.odd, b int) with (space = 'space')", "1:22: (like …) stands alone"},
           {"create table a (like public.odd including all) with (space = 'space')",
            "1:1: like has a clause that is not supported (options)"},
           {"create table a (like public.heap) with (space = 's')", "1:22: public.heap has no primary key"},
           {"create table a (b int)", "1:14: a has no primary key"},
           {"create table a (b int primary key, c int default 5)",
            "1:42: a constraint that is not supported; allowed on a column are primary key and not null"},
           {"create table a (b int, primary key (c))", "1:14: a has no column c, which its primary key names"},
           {"create table a (b int primary key, b text)", "1:36: the column b stands twice in a"},
           {"create table a (b int primary key, check (b > 0))", "1:36: not supported in create table"},
           {"create table a (b int primary key, d int) with (conflict_group_x = 'd, c')",
            "1:49: a has no column 'c', which conflict_group_x names"},
           {"create table a (b int primary key, d int) with (conflict_group_x = 'd, d')",
            "1:49: the column d is in two conflict groups, or twice in one"},
           {"create table a (b int primary key, d int) with (conflict_group_x = 'd', conflict_group_y = 'd')",
            "1:73: the column d is in two conflict groups, or twice in one"},
           {"create table a (b int primary key, d int) with (conflict_group_x = 'b')",
            "1:49: the column b is of the primary key, which never changes; no group names it"},
           {"create table a (b int primary key, d int) with (conflict_group_record = 'd')",
            "1:49: the name conflict_group_record; the group record holds the columns that no other group names"},
           {"create table a (b int primary key) with (space = 'b')",
            "1:42: the option space; allowed is conflict_group_"},
           {"create table public.a (b int primary key)", "1:14: a table of the model has no schema; write a"},
           {"create temp table a (b int primary key)", "1:19: TEMPORARY and UNLOGGED are not supported"},
           {"create table if not exists a (b int primary key)",
            "1:1: create table has a clause that is not supported (if_not_exists)"},
           {"create table claims (b int primary key)", "1:14: claims is a reserved name"},
           {"create view v as select a from nothing", "1:32: the model has no table nothing"}}) {
    EXPECT_THAT(problems_of(each.text), StartsWith(each.problem)) << each.text;
  }
}

TEST(Model, a_view_or_policy_that_is_not_allowed_is_refused_at_its_place) {
  const std::string table = "create table t (a int, b int, c text, primary key (a, b));\n";
  for (const Refusal& each : std::initializer_list<Refusal>{
           {"create view v as select a from t",
            "2:13: the view v does not select b, a column of the primary key of t; a view selects the whole key"},
           {"create view v as select a, b, x from t", "2:31: t has no column x"},
           {"create view v as select a, b, a from t", "2:31: the column a is selected twice"},
           {"create view v as select * from t", "2:25: the select list names columns, one by one"},
           {"create view v as select a, b as c from t",
            "2:13: the view v does not select b, a column of the primary key of t; a view selects the whole key, "
            "under"},
           {"create view v as select a, b, a + 1 from t", "2:31: a computed entry of the select list needs a name"},
           {"create view v as select a, b, claims.sub as c from t", "2:31: claims.sub in the select list"},
           {"create view v as select a, b, a + params.x as c from t", "2:35: params.x in the select list"},
           {"create view v as select a, b, a = c as d from t", "2:33: a comparison between integer and text"},
           {"create view v as select a, b from t order by a",
            "2:46: ORDER BY is not supported; a view is select column"},
           {"create view v as select a, b from t limit 5", "2:43: LIMIT is not supported"},
           {"create view v as select distinct a, b from t", "2:1: DISTINCT is not supported"},
           {"create view v as select a, b from t group by a, b", "2:46: GROUP BY is not supported"},
           {"create view v as select a, b from t union select a, b from t", "2:50: not a plain select"},
           {"create view v as select t.* from t", "2:25: the select list names columns, one by one"},
           {"create view v as select a, b from t join t as u on true", "2:42: a view has exactly one table"},
           {"create view v as select a, b from t, t as u", "2:38: a view has exactly one table"},
           {"create view v as select a, b from t as u",
            "2:35: ONLY and another name for a table are not supported; write t"},
           {"create view v as select a, b from only t", "2:40: ONLY and another name"},
           {"create or replace view v as select a, b from t",
            "2:1: create view has a clause that is not supported (replace)"},
           {"create view t as select a, b from t", "2:13: t is defined twice"},
           {"create policy p on nothing using (true)", "2:20: the model has no table or view nothing"},
           {"create policy p on t", "2:1: a policy for all needs using (condition)"},
           {"create policy p on t as restrictive using (true)", "2:1: AS RESTRICTIVE is not supported"},
           {"create policy p on t for delete using (true) with check (true)",
            "2:1: a policy for delete has no with check: it writes no record"},
           {"create policy p on t for select using (true) with check (true)",
            "2:1: a policy for select has no with check: it writes no record"},
           {"create policy p on t for insert using (true)",
            "2:1: a policy for insert has no using: there is no record yet; write with check (condition)"},
           {"create policy p on t for update with check (true)", "2:1: a policy for update needs using (condition)"},
           {"create policy p on t to joe using (true)", "2:25: TO a role is not supported; a policy decides by claims"},
           {"create policy p on t using (a = params.x)",
            "2:33: params.x in a policy; a parameter is the subscriber's own choice"},
           {"create policy p on t using (1)", "2:29: the condition must be boolean, not integer"}}) {
    EXPECT_THAT(problems_of(table + each.text), StartsWith(each.problem)) << each.text;
  }
  for (const std::string what :
       {"for insert with check (true)", "for delete using (true)", "using (true) with check (true)"}) {
    EXPECT_THAT(problems_of(table + "create view v as select a, b from t;\ncreate policy p on v " + what),
                StartsWith("3:1: a policy on a view admits callers to it; who may write is said on its table"));
  }
  EXPECT_THAT(problems_of(table + "create view v as select a, b from t;\ncreate policy p on v using (a = 1)"),
              StartsWith("3:29: the column a in a policy on a view, which decides about the caller alone"));
}

TEST(Model, all_problems_come_at_once_and_in_order) {
  EXPECT_EQ(problems_of("create table a (b int primary key);\n"
                        "create view v as select c from a where b = 'x' and d;\n"
                        "create viw w;\n"
                        "drop table a;"),
            "2:25: a has no column c\n"
            "2:44: invalid input for type integer: 'x'\n"
            "2:52: a has no column d; it has b\n"
            "3:8: syntax error at or near \"viw\"\n"
            "4:1: a statement that is not part of a model (DropStmt); allowed are create table, create view and create "
            "policy");
}

TEST(Model, one_mistake_is_told_once) {
  EXPECT_EQ(
      problems_of(
          "create table a (like public.nothing) with (space = 'x');\ncreate view v as select q from a where z = 1;\n"
          "create policy p on v using (true); create policy r on a using (y)"),
      "1:22: the database has no table public.nothing");
}

TEST(Model, negative_literals_keep_their_sign) {
  const GroupPtr group =
      group_where("id int primary key, n int", "id", "n between -10 and - /* ten */ (7) and n <> -8 and id <> 0");
  EXPECT_EQ(decide(*group, R"({"id": 1, "n": -7})"), true);
  EXPECT_EQ(decide(*group, R"({"id": 1, "n": -10})"), true);
  EXPECT_EQ(decide(*group, R"({"id": 1, "n": 7})"), false);
  EXPECT_EQ(decide(*group, R"({"id": 1, "n": -8})"), false);
}

TEST(Model, depth_and_size_are_bounded_by_name) {
  std::string deep = "flag";
  for (int i = 0; i < expression_depth_max; ++i) deep = "not (" + deep + ")";
  EXPECT_THAT(problems_of(with_condition(deep)), HasSubstr("an expression nested deeper than 100 levels"));
  std::string sum = "id";
  for (int i = 0; i < 20000; ++i) sum += "+1";
  EXPECT_THAT(problems_of(with_condition(sum)), HasSubstr("nested too deeply; at most 100 levels are allowed"));
  for (int i = 0; i < 20000; ++i) sum += "+1";
  EXPECT_THAT(problems_of(with_condition(sum)), HasSubstr("words and operators; at most 32000 are allowed"));
  EXPECT_EQ(problems_of(with_condition("label = '" + std::string(70000, 'x') + "'")), "");
  EXPECT_THAT(problems_of(std::string(model_bytes_max + 1, ' ')), HasSubstr("at most 1048576 are allowed"));
  EXPECT_THAT(problems_of("create table \xFF"), HasSubstr("not UTF-8 text"));
}

TEST(Model, words_are_counted_and_constants_are_not) {
  EXPECT_EQ(count_words("a + b"), 3U);
  EXPECT_EQ(count_words("x in (1, -2.5e-3, 'it''s -- no', E'\\'', $a$ b c $a$, .5)"), 5U);
  EXPECT_EQ(count_words("a -- b c\n/* d /* e */ f */ \"g h\""), 2U);
  EXPECT_EQ(count_words("date'2024-01-01' U&'x'"), 3U);
  EXPECT_EQ(count_words("((a))::int[]"), 10U);
  EXPECT_EQ(count_words("'not ended + + +"), 0U);
}

TEST(Model, the_deepest_texts_that_the_parser_gets_do_not_exhaust_the_stack) {
  const auto nested = [](const std::string& open, const std::string& middle, const std::string& close) {
    const std::size_t words = count_words(open) + count_words(close);
    const std::size_t levels = (statement_words_max - 60) / words;
    std::string out;
    for (std::size_t i = 0; i < levels; ++i) out += open;
    out += middle;
    for (std::size_t i = 0; i < levels; ++i) out += close;
    return with_condition(out);
  };
  for (const auto& text :
       {nested("not ", "flag", ""), nested("- ", "id", ""), nested("", "id", "+1"), nested("", "id", "::int"),
        nested("", "flag", " is true"), nested("", "id", "[1]"), nested("", "label", " collate \"C\""),
        nested("array[", "id", "]"), nested("abs(", "id", ")"), nested("case when flag then ", "id", " end"),
        nested("(select ", "id", ")"), nested("flag and (flag or ", "flag", ")"), nested("row(", "id", ")")}) {
    EXPECT_NE(problems_of(text), "");
  }
}

TEST(Model, a_list_of_ten_thousand_constants_is_text_of_the_model_and_is_searched) {
  std::string uuids;
  std::string numbers;
  for (int i = 0; i < 10'000; ++i) {
    const std::string digits = std::to_string(10'000 + i);
    uuids += (i == 0 ? "'" : ", '") + ("5f1c7f3e-0b1e-4b63-9d0b-2d3a6a1" + digits) + "'";
    numbers += (i == 0 ? "" : ", ") + std::to_string(3 * i);
  }
  ASSERT_GT(uuids.size(), std::size_t{300} * 1024);
  const GroupPtr group =
      group_where("id int primary key, u uuid, n int8", "id", "u in (" + uuids + ") and n not in (" + numbers + ")");
  const auto record = [](const std::string& digits, int n) {
    return R"({"id": 1, "u": "5f1c7f3e-0b1e-4b63-9d0b-2d3a6a1)" + digits + R"(", "n": )" + std::to_string(n) + "}";
  };
  EXPECT_EQ(decide(*group, record("10000", 1)), true);
  EXPECT_EQ(decide(*group, record("19999", 29'999)), true);
  EXPECT_EQ(decide(*group, record("20000", 1)), false);
  EXPECT_EQ(decide(*group, record("19999", 29'997)), false);
}

TEST(Model, a_view_without_a_policy_is_warned_of) {
  const ParsedModel parsed = parse_model("create table a (b int primary key);\ncreate view v as select b from a;", {});
  ASSERT_TRUE(parsed.model);
  ASSERT_EQ(parsed.warnings.size(), 1U);
  EXPECT_EQ(parsed.warnings[0].text("model.sql"),
            "model.sql:2:13: no policy admits anybody to the view v; write create policy … on v using (…)");
}

TEST(Model, the_version_follows_the_meaning_and_not_the_text) {
  const std::string table = "create table t (a int primary key, b text, c date);";
  const auto version = [&](const std::string& rest) { return parse_or_throw(table + rest)->view("v")->version; };
  const Digest plain =
      version("create view v as select a, b from t where a > 1 and b = 'x'; create policy p on v using (true)");
  EXPECT_EQ(plain, version("create view v as -- the same\n select t.a, b from t where ((a>1) and b='x'); create policy "
                           "other on v using (true)"));
  EXPECT_NE(plain,
            version("create view v as select b, a from t where a > 1 and b = 'x'; create policy p on v using (true)"));
  EXPECT_NE(plain,
            version("create view v as select a, b from t where a > 2 and b = 'x'; create policy p on v using (true)"));
  EXPECT_NE(plain, version("create view v as select a, b from t where a > 1 and b = 'x'; create policy p on v using "
                           "(claims.sub = 'x')"));
  EXPECT_NE(plain, version("create view v as select a, b from t where a > 1 and b = 'x'; create policy p on v using "
                           "(true); create policy q on t using (a = 5)"));
  Catalog catalog = demo_catalog();
  const Digest captured = parse_or_throw(demo_model, catalog)->view("overdrawn")->version;
  catalog.tables[0].capture = 43;
  EXPECT_NE(captured, parse_or_throw(demo_model, catalog)->view("overdrawn")->version);
}

constexpr std::string_view two_tables = R"(create table good (id int4 primary key, n int4);  -- größer
create table o (like public.odd) with (space = 'space');
create view fine as select id from good where n > 1;
create view bad as select id, space from o where gone = 1;
create policy p on fine using (true);
create policy q on bad using (claims.sub = 'x');
)";

TEST(Model, what_does_not_hold_any_more_is_left_out_and_the_rest_stays) {
  const PartialModel partial = parse_what_holds(two_tables, demo_catalog());
  ASSERT_TRUE(partial.model);
  EXPECT_TRUE(partial.model->view("fine"));
  EXPECT_FALSE(partial.model->view("bad"));
  EXPECT_EQ(partial.left_out, (std::set<std::string, std::less<>>{"bad"}));
  ASSERT_FALSE(partial.problems.empty());
  EXPECT_THAT(partial.problems.front().text("m"), StartsWith("m:4:50: "));
}

TEST(Model, a_table_that_is_gone_takes_its_views_with_it) {
  const PartialModel partial = parse_what_holds(two_tables, Catalog{});
  ASSERT_TRUE(partial.model);
  EXPECT_TRUE(partial.model->view("fine"));
  EXPECT_EQ(partial.left_out, (std::set<std::string, std::less<>>{"bad"}));
}

TEST(Model, a_view_whose_policy_does_not_hold_is_left_out_with_it) {
  const std::string text = std::string(two_tables) + "create policy r on fine using (nothing.at = 'all');\n";
  const PartialModel partial = parse_what_holds(text, Catalog{});
  ASSERT_TRUE(partial.model);
  EXPECT_TRUE(partial.model->views.empty());
  EXPECT_EQ(partial.left_out, (std::set<std::string, std::less<>>{"bad", "fine"}));
}

TEST(Model, a_model_that_holds_is_whole) {
  const PartialModel partial = parse_what_holds(demo_model, demo_catalog());
  ASSERT_TRUE(partial.model);
  EXPECT_TRUE(partial.left_out.empty());
  EXPECT_TRUE(partial.problems.empty());
  EXPECT_FALSE(parse_what_holds("create view", Catalog{}).model);
}

TEST(Model, a_report_says_what_each_view_needs_and_who_is_admitted) {
  const ModelPtr model = parse_or_throw(R"(
    create table o (like public.odd) with (space = 'space');
    create view plain as select space, id from o;
    create view quick as select space, id, label as title, lower(label) || '!' as slug from o
      where small > params.least and (mood = any(params.moods) or label = claims.sub) and not (at < 'infinity')
        and case when flag then id else small end = 5 and label like 'it''s%' and due in ('2024-01-01', null);
    create policy members on quick using (space.name = any(claims.spaces) and claims.level::int >= 3);
    create policy own on o using (label = claims.sub or doc @> '{"a": 1}');)");
  EXPECT_EQ(report(*model), R"(view plain over public.odd
  shows       space, id
  parameters  none
  claims      sub text
  admits      nobody: no policy is on it
  limited by  policy own where (label = claims.sub) or (doc @> '{"a": 1}')
view quick over public.odd
  shows       space, id, label as title, lower(label) || '!' as slug
  parameters  least smallint, moods public.mood[]
  claims      level integer, spaces text[], sub text
  admits      policy members where (space.name = any (claims.spaces)) and (claims.level >= 3)
  limited by  policy own where (label = claims.sub) or (doc @> '{"a": 1}')
)");
  EXPECT_EQ(
      text_of(model->view("quick")->predicate.children.front(), model->view("quick")->table->layout),
      "(small > params.least) and ((mood = any (params.moods)) or (label = claims.sub)) and (not (at < 'infinity')) "
      "and (case when flag then id else small end = 5) and (label like 'it''s%') and "
      "(due = any (array['2024-01-01', null]))");
}

// A list of ten thousand is searched; it fits a statement, and beyond that it is a parameter.
TEST(Model, an_in_list_may_have_ten_thousand_values) {
  std::string list;
  for (int i = 0; i < 10'000; ++i) list += (i == 0 ? "" : ",") + std::to_string(i * 3);
  const GroupPtr written = group_where("id int primary key, n int8", "id", "n in (" + list + ")");
  const GroupPtr given =
      group_where("id int primary key, n int8", "id", "n = any(params.list)", "{\"list\":[" + list + "]}");
  const GroupPtr excluded =
      group_where("id int primary key, n int8", "id", "n <> all(params.list)", "{\"list\":[null," + list + "]}");
  for (const GroupPtr& group : {written, given}) {
    EXPECT_EQ(decide(*group, R"({"id": 1, "n": 29997})"), true);
    EXPECT_EQ(decide(*group, R"({"id": 1, "n": 0})"), true);
    EXPECT_EQ(decide(*group, R"({"id": 1, "n": 29998})"), false);
    EXPECT_EQ(decide(*group, R"({"id": 1, "n": null})"), false);
  }
  EXPECT_EQ(decide(*excluded, R"({"id": 1, "n": 1})"), false) << "NULL in the list: unknown";
}

}  // namespace
}  // namespace viewgate::testing
