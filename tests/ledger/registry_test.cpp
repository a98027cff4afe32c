// What nodes share through the database: the model in force, captures, tables, keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/loop.hpp"
#include "ledger/registry.hpp"
#include "ledger/writers.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using std::chrono_literals::operator""s;
using ledger::errc;
using ledger::Registry;
using ledger::RegistryState;
using ledger::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest()
      : conninfo_(PostgresCluster::shared().create_database()),
        session_(conninfo_),
        registry_(loop_.io(), conninfo_, 10s) {}

  template <class T, class Call>
  Result<T> answer(Call call) {
    std::optional<Result<T>> out;
    call([&out](Result<T> done) { out.emplace(std::move(done)); });
    EXPECT_FALSE(out) << "no callback inside the call";
    if (!loop_.until([&out] { return out.has_value(); })) throw std::runtime_error("the registry did not answer");
    return std::move(*out);
  }

  RegistryState read() {
    return value_of(answer<RegistryState>([&](auto done) { registry_.read(done); }));
  }
  ledger::ModelInForce apply(const std::string& text, const std::string& hash) {
    return value_of(answer<ledger::ModelInForce>([&](auto done) { registry_.apply_model(text, hash, {}, done); }));
  }
  Result<std::int64_t> capture(const std::string& table, const std::string& column) {
    return answer<std::int64_t>([&](auto done) { registry_.capture(table, column, done); });
  }

  const std::string conninfo_;
  PgSession session_;
  Loop loop_;
  Registry registry_;
};

TEST_F(RegistryTest, a_new_ledger_has_no_model_no_captures_and_one_key_for_all_nodes) {
  const RegistryState state = read();
  EXPECT_FALSE(state.model);
  EXPECT_TRUE(state.captures.empty());
  ASSERT_EQ(state.keys.size(), 1U);
  EXPECT_EQ(state.keys[0].secret.size(), 32U);
  Registry other(loop_.io(), conninfo_, 10s);
  const auto theirs = value_of(answer<RegistryState>([&](auto done) { other.read(done); }));
  EXPECT_EQ(theirs.keys[0].secret, state.keys[0].secret);
}

TEST_F(RegistryTest, nodes_that_start_together_agree_on_the_first_key) {
  std::vector<std::unique_ptr<Registry>> nodes;
  std::vector<std::string> secrets;
  for (int i = 0; i < 5; ++i) {
    nodes.push_back(std::make_unique<Registry>(loop_.io(), conninfo_, 10s));
    nodes.back()->read(
        [&](Result<RegistryState> state) { secrets.push_back(value_of(std::move(state)).keys.at(0).secret); });
  }
  ASSERT_TRUE(loop_.until([&] { return secrets.size() == 5; }));
  for (const std::string& secret : secrets) EXPECT_EQ(secret, secrets[0]);
}

TEST_F(RegistryTest, keys_come_oldest_first) {
  read();
  session_.run("insert into viewgate.keys (id, secret) values (2, decode('00ff', 'hex'))");
  const RegistryState state = read();
  ASSERT_EQ(state.keys.size(), 2U);
  EXPECT_EQ(state.keys[1].id, 2);
  EXPECT_EQ(state.keys[1].secret, std::string("\0\xff", 2));
}

TEST_F(RegistryTest, applying_a_model_switches_it_and_the_same_again_changes_nothing) {
  EXPECT_EQ(apply("create view ü;", "h1").version, 1);
  EXPECT_EQ(apply("create view b;", "h2").version, 2);
  EXPECT_EQ(apply("create view b;", "h2").version, 2);
  const RegistryState state = read();
  ASSERT_TRUE(state.model);
  EXPECT_EQ(state.model->text, "create view b;");
  EXPECT_EQ(state.model->hash, "h2");
}

TEST_F(RegistryTest, captures_are_listed_and_a_hole_is_another_id) {
  session_.run("create schema shop; create table shop.orders (id int primary key, tenant text)");
  const std::int64_t id = value_of(capture("shop.orders", "tenant"));
  EXPECT_EQ(value_of(capture("shop.orders", "tenant")), id);
  RegistryState state = read();
  ASSERT_EQ(state.captures.size(), 1U);
  EXPECT_EQ(state.captures[0].collection, "shop.orders");
  EXPECT_EQ(state.captures[0].schema, "shop");
  EXPECT_EQ(state.captures[0].table, "orders");
  EXPECT_EQ(state.captures[0].space_column, "tenant");
  EXPECT_EQ(state.captures[0].id, id);
  EXPECT_EQ(state.captures[0].broken_reason, "");

  session_.run("alter table shop.orders disable trigger viewgate_update");
  state = read();
  EXPECT_EQ(state.captures[0].id, 0);
  EXPECT_THAT(state.captures[0].broken_reason, HasSubstr("trigger"));
  session_.run("alter table shop.orders enable always trigger viewgate_update");
  state = read();
  EXPECT_EQ(state.captures[0].broken_reason, "");
  EXPECT_NE(state.captures[0].id, 0);
  EXPECT_NE(state.captures[0].id, id);

  expect_ok(answer<void>([&](auto done) { registry_.uncapture("shop.orders", done); }));
  EXPECT_TRUE(read().captures.empty());
}

TEST_F(RegistryTest, a_table_is_named_as_people_do_and_refused_by_name) {
  session_.run(
      "create table orders (id int primary key, tenant text); create table bare (id int, tenant text);"
      "create table \"Odd.Name\" (id int primary key, tenant text)");
  EXPECT_TRUE(capture("orders", "tenant"));
  EXPECT_TRUE(capture("\"Odd.Name\"", "tenant"));
  struct Line {
    const char* table;
    const char* column;
    const char* detail;
  };
  for (const Line line :
       {Line{"nowhere", "tenant", "there is no table nowhere"}, Line{"bare", "tenant", "no primary key"},
        Line{"orders", "space", "space column space does not exist"}}) {
    const auto refused = capture(line.table, line.column);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::not_capturable) << refused.error().detail;
    EXPECT_THAT(refused.error().detail, HasSubstr(line.detail));
  }
  const auto missing = answer<void>([&](auto done) { registry_.uncapture("nowhere", done); });
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::not_capturable);
}

TEST_F(RegistryTest, tables_are_described_with_their_types_and_keys) {
  session_.run(
      "create type public.mood as enum ('b', 'a,\"é'); alter type public.mood add value 'c' before 'b'; create "
      "collation public.loose (provider = icu, locale = 'und', "
      "deterministic = "
      "false);"
      "create table public.t (a int8, \"B\" text, c numeric(5,2) not null, gone int, d timestamptz, e mood, f text "
      "collate "
      "loose, "
      "g int4[], h mood[], primary key (\"B\", a)); alter table t drop column gone");
  const auto shapes = value_of(answer<std::vector<ledger::TableShape>>([&](auto done) {
    registry_.describe({{"public", "nowhere"}, {"public", "t"}}, done);
  }));
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_TRUE(shapes[0].columns.empty());
  std::vector<std::string> columns;
  for (const ledger::TableColumn& column : shapes[1].columns) {
    columns.push_back(column.name + " " + column.type + (column.has_deterministic_collation ? "" : " loose") +
                      (column.is_not_null ? " not null" : ""));
  }
  EXPECT_THAT(columns, ElementsAre("a int8 not null", "B text not null", "c numeric not null", "d timestamptz",
                                   "e public.mood", "f text loose", "g _int4", "h public.mood[]"));
  EXPECT_THAT(shapes[1].columns[4].labels, ElementsAre("c", "b", "a,\"é"));
  EXPECT_EQ(shapes[1].columns[7].labels, shapes[1].columns[4].labels);
  EXPECT_THAT(shapes[1].columns[0].labels, IsEmpty());
  EXPECT_THAT(shapes[1].primary_key, ElementsAre("B", "a"));
}

TEST_F(RegistryTest, a_terminated_session_is_replaced) {
  read();
  session_.run(
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'viewgate registry' and "
      "datname "
      "= current_database()");
  read();
}

}  // namespace
}  // namespace viewgate::testing
