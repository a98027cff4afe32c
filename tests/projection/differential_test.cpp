// Goal: the evaluator decides as PostgreSQL does, and what is pushed down is a superset that never raises.
// Method: random conditions over a table with a column of each type are put to both. PostgreSQL says for each row true,
// false, NULL, or raises; ours says the same, where an error of PostgreSQL is our fourth truth value or one that AND
// and OR decide without (PostgreSQL may raise there, and may not: it chooses its own order). The seed is printed;
// VIEWGATE_SEED replays it, VIEWGATE_DIFFERENTIAL_SECONDS lengthens the run.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <random>

#include "projection/binding.hpp"
#include "projection/condition_maker.hpp"
#include "projection/fixture.hpp"
#include "projection/pushdown.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// One row as PostgreSQL keeps it.
struct Row {
  std::string key;
  std::string text;
};

class Differential : public ::testing::Test {
 protected:
  Differential() : database_(PostgresCluster::shared().create_empty_database()), session_(database_) {
    session_.run("set timezone = 'UTC'; set extra_float_digits = 1; set client_min_messages = error");
    session_.run(std::string("create table public.sample (") + ConditionMaker::columns + ")");
    // A scan, so that columns are not constants to the planner, which may otherwise leave operands out.
    session_.run(
        "create function public.ask(condition text) returns table (id int4, answer text) language plpgsql as $$"
        " declare told bool; begin"
        " for id in select s.id from public.sample s order by s.id loop"
        "  begin execute 'select ' || condition || ' from public.sample t where t.id = $1' into told using id;"
        "   answer := coalesce(told::text, 'null');"
        "  exception when others then answer := sqlstate || ' ' || sqlerrm; end;"
        "  return next; end loop; end $$");
  }

  void fill(ConditionMaker& maker, int rows) {
    std::string values;
    for (int id = 1; id <= rows; ++id) {
      values += (values.empty() ? "(" : ", (") + std::to_string(id) + ", " + maker.row() + ")";
    }
    session_.run("truncate public.sample; insert into public.sample values " + values);
    rows_.clear();
    for (const PgRow& row : session_.run("select id::text, to_jsonb(t)::text from public.sample t order by t.id")) {
      rows_.push_back({*row[0], *row[1]});
    }
  }

  [[nodiscard]] Catalog catalog() {
    Catalog out;
    CatalogTable table;
    table.schema = "public";
    table.name = "sample";
    table.capture = 1;
    for (const PgRow& row : session_.query(catalog_query, {"public", "sample"})) {
      table.columns.push_back({*row[0], *row[1], *row[2] == "t"});
      if (*row[3] != "0") table.primary_key.push_back(*row[0]);
    }
    out.tables.push_back(table);
    return out;
  }

  std::string database_;
  PgSession session_;
  std::vector<Row> rows_;
};

const char* spelt(Truth truth) {
  switch (truth) {
    case Truth::no:
      return "false";
    case Truth::yes:
      return "true";
    case Truth::unknown:
      return "null";
    case Truth::error:
      break;
  }
  return "error";
}

TEST_F(Differential, the_evaluator_agrees_with_postgresql) {
  const std::uint64_t seed = number_from_environment("VIEWGATE_SEED", std::random_device{}());
  const std::chrono::seconds time(number_from_environment("VIEWGATE_DIFFERENTIAL_SECONDS", 20));
  std::cout << "VIEWGATE_SEED=" << seed << std::endl;
  RecordProperty("seed", std::to_string(seed));
  ConditionMaker maker(seed);
  const auto end = std::chrono::steady_clock::now() + time;
  const Catalog known = catalog();
  int conditions = 0;
  std::map<std::string, int> answers;
  while (std::chrono::steady_clock::now() < end) {
    if (conditions % 50 == 0) fill(maker, 12);
    ++conditions;
    const ConditionMaker::Condition condition = maker.condition();
    SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed) + " condition: " + condition.model +
                 "\nparams: " + condition.params + "\nin PostgreSQL: " + condition.sql);
    const ParsedModel parsed = parse_model(
        "create table sample (like public.sample) with (space = 'space');\ncreate view v as select id from sample "
        "where " +
            condition.model + ";\ncreate policy p on v using (true);",
        known);
    ASSERT_TRUE(parsed.problems.empty()) << parsed.problems.front().text("model");
    const auto bound = projection::bind(*parsed.model, "v", condition.params, condition.claims, "s1");
    ASSERT_TRUE(bound) << bound.error().detail;
    const Group& group = *bound->group;
    const PgRows theirs = session_.query("select a.answer from public.ask($1) a order by a.id", {condition.sql});
    ASSERT_EQ(theirs.size(), rows_.size());
    std::vector<std::string> inside;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto record = Record::parse(group.table().layout, rows_[i].text);
      ASSERT_TRUE(record) << rows_[i].text;
      const Truth ours = evaluate_truth(group.predicate(), *record);
      const std::string their = *theirs[i][0];
      const bool raised = their != "true" && their != "false" && their != "null";
      ++answers[raised ? "error" : their];
      if (ours == Truth::yes) inside.push_back(rows_[i].key);
      // Ours may decide without an operand that PostgreSQL fails on, and never the other way: where PostgreSQL has an
      // answer and ours is an error, PostgreSQL has skipped the failing operand, which makes the record outside here.
      EXPECT_TRUE(!raised || their.starts_with("22") || their.starts_with("0A000")) << their;
      if ((raised || ours == Truth::error) && !condition.strict) continue;
      EXPECT_EQ(spelt(ours), raised ? "error" : their) << rows_[i].text << "\n" << their;
    }
    const std::string query = read_plan(group).query();
    std::vector<std::string> found;
    try {
      for (const PgRow& row : session_.run("select (to_jsonb ->> 'id') from (" + query +
                                           ") as q(to_jsonb_text), lateral (select to_jsonb_text::jsonb as to_jsonb) j "
                                           "order by (to_jsonb ->> 'id')::int")) {
        found.push_back(*row[0]);
      }
    } catch (const PgError& error) {
      ADD_FAILURE() << "the pushed-down query raises: " << error.what() << "\n" << query;
    }
    for (const std::string& key : inside) {
      EXPECT_NE(std::find(found.begin(), found.end(), key), found.end()) << "record " << key << " is not in " << query;
    }
    if (HasFailure()) break;
  }
  std::cout << conditions << " conditions;";
  for (const auto& [answer, count] : answers) std::cout << " " << answer << " " << count;
  std::cout << std::endl;
  for (const char* answer : {"true", "false", "null", "error"}) EXPECT_GT(answers[answer], 0) << answer;
}

}  // namespace
}  // namespace viewgate::testing
