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
#include <set>

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

/// How long each test asks.
std::chrono::steady_clock::time_point end_of_questions() {
  return std::chrono::steady_clock::now() +
         std::chrono::seconds(number_from_environment("VIEWGATE_DIFFERENTIAL_SECONDS", 10));
}

/// One row as PostgreSQL keeps it.
struct Row {
  std::string key;
  std::string text;
};

class Differential : public ::testing::Test {
 protected:
  Differential()
      : seed_(number_from_environment("VIEWGATE_SEED", std::random_device{}())),
        maker_(seed_),
        session_(PostgresCluster::shared().create_empty_database()) {
    std::cout << "VIEWGATE_SEED=" << seed_ << std::endl;
    session_.run("set timezone = 'UTC'; set extra_float_digits = 1; set client_min_messages = error");
    session_.run(std::string("create table public.sample (") + ConditionMaker::columns + ")");
    // A scan, so that columns are not constants to the planner, which may otherwise leave operands out.
    session_.run(
        "create function public.ask(question text) returns table (id int4, answer text) language plpgsql as $$"
        " declare told text; begin"
        " for id in select s.id from public.sample s order by s.id loop"
        "  begin execute 'select (' || question || ')::text from public.sample t where t.id = $1' into told using id;"
        "   answer := coalesce(told, 'null');"
        "  exception when others then answer := 'error ' || sqlstate || ' ' || sqlerrm; end;"
        "  return next; end loop; end $$");
    catalog_ = catalog();
  }

  void fill(int rows) {
    std::string values;
    for (int id = 1; id <= rows; ++id) {
      values += (values.empty() ? "(" : ", (") + std::to_string(id) + ", " + maker_.row() + ")";
    }
    session_.run("truncate public.sample; insert into public.sample values " + values);
    rows_.clear();
    for (const PgRow& row : session_.run("select id::text, to_jsonb(t)::text from public.sample t order by t.id")) {
      rows_.push_back({*row[0], *row[1]});
    }
  }

  Catalog catalog() {
    CatalogTable table;
    table.schema = "public";
    table.name = "sample";
    table.primary_key = {"id"};
    for (const PgRow& row :
         session_.run("select a.attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid"
                      " where a.attrelid = 'public.sample'::regclass and a.attnum > 0 order by a.attnum")) {
      table.columns.push_back({*row[0], *row[1]});
    }
    return Catalog{{table}};
  }

  GroupPtr group_of(const ConditionMaker::Condition& condition) {
    const ModelPtr model = parse_or_throw(
        "create table sample (like public.sample) with (space = 'space');\ncreate view v as select id from sample "
        "where " +
            condition.model + ";\ncreate policy p on v using (true);",
        catalog_);
    return projection::bind(*model, "v", condition.params, condition.claims, "s1").value().group;
  }

  /// What PostgreSQL says for each row; an error begins with "error ".
  std::vector<std::string> ask(const std::string& question) {
    std::vector<std::string> out;
    for (const PgRow& row : session_.query("select a.answer from public.ask($1) a order by a.id", {question})) {
      out.push_back(*row[0]);
      // Errors of evaluation only: what does not even parse there means that we take what PostgreSQL refuses.
      const std::string& answer = out.back();
      EXPECT_TRUE(!is_error(answer) || answer.starts_with("error 22") || answer.starts_with("error 0A000")) << answer;
    }
    return out;
  }

  static bool is_error(const std::string& answer) { return answer.starts_with("error "); }

  [[nodiscard]] std::string trace(const ConditionMaker::Condition& condition) const {
    return "VIEWGATE_SEED=" + std::to_string(seed_) + " condition: " + condition.model +
           "\nparams: " + condition.params + "\nin PostgreSQL: " + condition.sql;
  }

  void expect_superset(const Group& group, const std::vector<std::string>& inside) {
    const std::string query = read_plan(group).query();
    std::set<std::string> found;
    try {
      for (const PgRow& row : session_.run("select r.text::jsonb ->> 'id' from (" + query + ") as r(text)"))
        found.insert(*row[0]);
    } catch (const PgError& error) {
      ADD_FAILURE() << "the pushed-down query raises: " << error.what() << "\n" << query;
      return;
    }
    pushed_out_ += rows_.size() - found.size();
    for (const std::string& key : inside)
      EXPECT_TRUE(found.contains(key)) << "record " << key << " is not in " << query;
  }

  const std::uint64_t seed_;
  ConditionMaker maker_;
  PgSession session_;
  Catalog catalog_;
  std::vector<Row> rows_;
  std::size_t pushed_out_ = 0;
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
  const auto end = end_of_questions();
  std::map<std::string, int> answers;
  int conditions = 0;
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    if (conditions++ % 50 == 0) fill(12);
    const ConditionMaker::Condition condition = maker_.condition();
    SCOPED_TRACE(trace(condition));
    const GroupPtr group = group_of(condition);
    const std::vector<std::string> theirs = ask(condition.sql);
    std::vector<std::string> inside;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto record = Record::parse(group->table().layout, rows_[i].text);
      ASSERT_TRUE(record) << rows_[i].text;
      const Truth ours = evaluate_truth(group->predicate(), *record);
      const std::string their = is_error(theirs[i]) ? "error" : theirs[i];
      ++answers[their];
      if (ours == Truth::yes) inside.push_back(rows_[i].key);
      // Ours may decide without an operand that PostgreSQL fails on; and PostgreSQL may leave out an operand that is an
      // error here, which makes the record outside.
      if (!condition.strict && (their == "error" || ours == Truth::error)) continue;
      EXPECT_EQ(spelt(ours), their) << rows_[i].text << "\n" << theirs[i];
    }
    expect_superset(*group, inside);
  }
  std::cout << conditions << " conditions; pushed out " << pushed_out_ << ";";
  for (const auto& [answer, count] : answers) std::cout << " " << answer << " " << count;
  std::cout << std::endl;
  for (const char* answer : {"true", "false", "null", "error"}) EXPECT_GT(answers[answer], 0) << answer;
  EXPECT_GT(pushed_out_, 0U);
}

TEST_F(Differential, values_print_as_postgresql_prints_them) {
  const auto end = end_of_questions();
  int values = 0;
  int errors = 0;
  for (int asked = 0; std::chrono::steady_clock::now() < end && !HasFailure(); ++asked) {
    if (asked % 50 == 0) fill(12);
    const ConditionMaker::Condition condition = maker_.printed_value();
    SCOPED_TRACE(trace(condition));
    const GroupPtr group = group_of(condition);
    if (group->predicate().kind != Expression::Kind::comparison)
      continue;  // an operand is NULL or an error: nothing is left
    const Expression& printed = group->predicate().children.front();
    const std::vector<std::string> theirs = ask(condition.sql);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto record = Record::parse(group->table().layout, rows_[i].text);
      ASSERT_TRUE(record) << rows_[i].text;
      const Value value = evaluate(printed, *record);
      const std::string ours = is_fault(value) ? "error" : is_null(value) ? "null" : print_text(value);
      ++(is_fault(value) ? errors : values);
      if (!condition.strict && (ours == "error" || is_error(theirs[i]))) continue;
      EXPECT_EQ(ours, is_error(theirs[i]) ? "error" : theirs[i]) << rows_[i].text << "\n" << theirs[i];
    }
  }
  std::cout << values << " values, " << errors << " errors" << std::endl;
  EXPECT_GT(values, errors);
}

}  // namespace
}  // namespace viewgate::testing
