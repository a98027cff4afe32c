// One libpq connection as coroutines, and the pool, against a real server: what an answer means, what breaks, what is bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>

#include "ledger/loop.hpp"
#include "ledger/pg/pool.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using ledger::errc;
using ledger::pg::Connection;
using ledger::pg::ConnectOptions;
using ledger::pg::Pool;
using ledger::pg::Row;
using ledger::pg::Statement;
using ::testing::HasSubstr;

class PgConnection : public ::testing::Test {
 protected:
  PgConnection() : conninfo_(PostgresCluster::shared().create_empty_database()) {}

  ConnectOptions options() const {
    ConnectOptions out;
    out.conninfo = conninfo_;
    return out;
  }

  std::unique_ptr<Connection> connected() {
    auto out = std::make_unique<Connection>(loop_.io().get_executor());
    expect_ok(loop_.await(out->connect(options())));
    return out;
  }

  std::string value(Connection& connection, const std::string& sql) {
    return value_of(loop_.await(connection.exec(sql, {}, 10s)))[0].string(0);
  }

  const std::string conninfo_;
  Loop loop_;
};

TEST_F(PgConnection, a_statement_returns_typed_values) {
  auto connection = connected();
  auto rows =
      value_of(loop_.await(connection->exec("select $1::int8, null::text, $2::text, true", {"-5", "a'b"}, 10s)));
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].integer(0), -5);
  EXPECT_TRUE(rows[0].is_null(1));
  EXPECT_EQ(rows[0].optional_string(1), std::nullopt);
  EXPECT_EQ(rows[0].text(2), "a'b");
  EXPECT_TRUE(rows[0].boolean(3));
  EXPECT_THROW((void)rows[0].integer(2), ledger::Failure);
}

TEST_F(PgConnection, an_answer_means_that_others_see_it) {
  auto connection = connected();
  PgSession other(conninfo_);
  other.run("create table t (n int)");
  for (int i = 0; i < 200; ++i) {
    value_of(loop_.await(connection->exec("insert into public.t values ($1)", {std::to_string(i)}, 10s)));
    ASSERT_EQ(other.value("select count(*) from t"), std::to_string(i + 1));
  }
}

TEST_F(PgConnection, a_refused_statement_leaves_the_connection_usable) {
  auto connection = connected();
  const auto refused = loop_.await(connection->exec("select 1 / 0", {}, 10s));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::rejected);
  EXPECT_EQ(refused.error().sqlstate, "22012");
  EXPECT_EQ(value(*connection, "select 7"), "7");
}

TEST_F(PgConnection, several_statements_travel_together_and_the_first_error_is_told) {
  auto connection = connected();
  std::vector<Statement> statements = {{"select 1", {}}, {"select $1::int + 1", {"41"}}};
  auto rows = value_of(loop_.await(connection->exec_all(statements, 10s)));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1][0].integer(0), 42);

  std::vector<Statement> broken = {{"select 1", {}}, {"select 1 / 0", {}}, {"select no_such_column", {}}};
  const auto refused = loop_.await(connection->exec_all(broken, 10s));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sqlstate, "22012");
  EXPECT_EQ(value(*connection, "select 7"), "7");
}

TEST_F(PgConnection, a_prepared_statement_is_prepared_once_per_session) {
  auto connection = connected();
  const auto prepared = [&] { return value(*connection, "select count(*) from pg_prepared_statements"); };
  for (int i = 0; i < 3; ++i) {
    auto rows = value_of(loop_.await(connection->exec_prepared("select $1::int + 1", {std::to_string(i)}, 10s)));
    EXPECT_EQ(rows[0].integer(0), i + 1);
    std::int64_t sum = 0;
    const auto add = [&sum](const Row& row) { return (sum += row.integer(0)) > 0; };
    expect_ok(loop_.await(connection->stream_prepared("select generate_series(1, $1::int)", {"4"}, add, 10s)));
    EXPECT_EQ(sum, 10);
  }
  EXPECT_EQ(prepared(), "2");
  EXPECT_FALSE(loop_.await(connection->exec_prepared("select no_such_column", {}, 10s)));
  EXPECT_FALSE(loop_.await(connection->exec_prepared("select 1 / $1::int", {"0"}, 10s)));
  EXPECT_EQ(prepared(), "3");
  expect_ok(loop_.await(connection->connect(options())));
  EXPECT_EQ(prepared(), "0");
  EXPECT_TRUE(loop_.await(connection->exec_prepared("select $1::int + 1", {"1"}, 10s)));
}

TEST_F(PgConnection, a_deadline_closes_the_connection) {
  auto connection = connected();
  const auto late = loop_.await(connection->exec("select pg_sleep(30)", {}, 50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::timeout);
  EXPECT_FALSE(connection->is_open());
  expect_ok(loop_.await(connection->connect(options())));
  EXPECT_EQ(value(*connection, "select 7"), "7");
}

TEST_F(PgConnection, close_ends_a_pending_statement) {
  auto connection = connected();
  boost::asio::steady_timer timer(loop_.io(), 20ms);
  timer.async_wait([&](auto) { connection->close(); });
  const auto closed = loop_.await(connection->exec("select pg_sleep(30)", {}, 10s));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, errc::unavailable);
}

TEST_F(PgConnection, a_terminated_session_is_unavailable) {
  auto connection = connected();
  PgSession(conninfo_).run("select pg_terminate_backend(" + std::to_string(connection->backend_pid()) + ", 5000)");
  EXPECT_FALSE(connection->is_idle());
  const auto gone = loop_.await(connection->exec("select 1", {}, 10s));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, errc::unavailable);
  EXPECT_FALSE(connection->is_open());
}

TEST_F(PgConnection, errors_are_told_apart) {
  auto connection = connected();
  struct Line {
    const char* state;
    errc code;
  };
  for (const Line line :
       {Line{"40001", errc::retry}, Line{"40P01", errc::retry}, Line{"55P03", errc::retry},
        Line{"57014", errc::timeout}, Line{"53100", errc::unavailable}, Line{"57P03", errc::unavailable},
        Line{"VG001", errc::not_capturable}, Line{"23505", errc::rejected}}) {
    const auto refused = loop_.await(connection->exec(
        std::string("do $$ begin raise exception 'no' using errcode = '") + line.state + "'; end $$", {}, 10s));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, line.code) << line.state;
    EXPECT_EQ(refused.error().sqlstate, line.state);
  }
}

TEST_F(PgConnection, a_large_result_streams_and_can_be_given_up) {
  auto connection = connected();
  std::int64_t sum = 0;
  const auto add = [&sum](const Row& row) {
    sum += row.integer(0);
    return true;
  };
  const std::string sql = "select n, repeat('x', 100) from generate_series(1, 200000) n";
  expect_ok(loop_.await(connection->stream(sql, {}, add, 10s)));
  EXPECT_EQ(sum, 200000LL * 200001 / 2);

  int seen = 0;
  const auto stop = [&seen](const Row&) { return ++seen < 10; };
  const auto given_up = loop_.await(connection->stream(sql, {}, stop, 10s));
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, errc::rejected);
  EXPECT_EQ(seen, 10);
  EXPECT_FALSE(connection->is_open());
}

TEST_F(PgConnection, a_stream_that_falls_silent_times_out) {
  auto connection = connected();
  const auto all = [](const Row&) { return true; };
  const auto late = loop_.await(connection->stream(
      "select case when n = 3 then pg_sleep(30)::text end from generate_series(1, 5) n", {}, all, 100ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::timeout);
}

TEST_F(PgConnection, an_error_in_the_middle_of_a_stream_is_told) {
  auto connection = connected();
  int seen = 0;
  const auto count = [&seen](const Row&) { return ++seen > 0; };
  const auto failed =
      loop_.await(connection->stream("select 10 / (5 - n) from generate_series(1, 9) n", {}, count, 10s));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().sqlstate, "22012");
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(value(*connection, "select 7"), "7");
}

TEST_F(PgConnection, notifications_arrive_and_a_wait_without_one_ends) {
  auto connection = connected();
  expect_ok(loop_.await(connection->exec_script("listen here", 10s)));
  EXPECT_EQ(value_of(loop_.await(connection->wait_notification(30ms))), std::nullopt);
  PgSession(conninfo_).run("select pg_notify('here', 'one'), pg_notify('here', 'two')");
  EXPECT_EQ(value_of(loop_.await(connection->wait_notification(10s))), "one");
  EXPECT_EQ(value_of(loop_.await(connection->wait_notification(10s))), "two");
  EXPECT_EQ(value(*connection, "select 7"), "7");
}

TEST_F(PgConnection, a_database_with_odd_settings_changes_nothing_that_we_read) {
  PgSession admin(conninfo_);
  const std::string name = admin.value("select current_database()");
  for (const char* setting :
       {"timezone = 'Asia/Kathmandu'", "datestyle = 'German'", "intervalstyle = 'iso_8601'", "extra_float_digits = -5",
        "bytea_output = 'escape'", "search_path = 'public'", "default_transaction_isolation = 'serializable'",
        "synchronous_commit = off", "statement_timeout = '1ms'", "default_transaction_read_only = on"}) {
    admin.run("set default_transaction_read_only = off; alter database " + name + " set " + setting);
  }
  auto connection = connected();
  EXPECT_EQ(value(*connection,
                  "select concat_ws(' ', timestamptz '2026-01-02 03:04:05Z', interval '1 day 2 hours', "
                  "0.1::float8 + 0.2::float8, '\\x00ff'::bytea, current_setting('search_path'), "
                  "current_setting('transaction_isolation'), current_setting('synchronous_commit'), "
                  "current_setting('transaction_read_only'), pg_sleep(0.01))"),
            "2026-01-02 03:04:05+00 1 day 02:00:00 0.30000000000000004 \\x00ff pg_catalog read committed on off ");
}

TEST_F(PgConnection, nobody_there_is_unavailable) {
  Connection connection(loop_.io().get_executor());
  ConnectOptions nowhere;
  nowhere.conninfo = "host=127.0.0.1 port=1 dbname=x user=x";
  const auto refused = loop_.await(connection.connect(nowhere));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unavailable);
  EXPECT_THAT(refused.error().detail, HasSubstr("refused"));
  nowhere.conninfo = "not a conninfo";
  EXPECT_FALSE(loop_.await(connection.connect(nowhere)));
}

TEST_F(PgConnection, a_server_that_says_nothing_times_out) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  socklen_t size = sizeof(address);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);

  Connection connection(loop_.io().get_executor());
  ConnectOptions silent;
  silent.conninfo = "host=127.0.0.1 dbname=x user=x port=" + std::to_string(ntohs(address.sin_port));
  silent.connect_time_max = 100ms;
  const auto late = loop_.await(connection.connect(silent));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::timeout);
  ::close(listener);
}

TEST_F(PgConnection, a_large_parameter_is_flushed_in_pieces) {
  auto connection = connected();
  const std::string large(20'000'000, 'y');
  auto rows = value_of(loop_.await(connection->exec("select length($1), $1", {large}, 30s)));
  EXPECT_EQ(rows[0].integer(0), 20'000'000);
  EXPECT_EQ(rows[0].text(1).size(), large.size());
}

class PgPool : public PgConnection {};

TEST_F(PgPool, connections_are_bounded_and_used_again) {
  Pool pool(loop_.io().get_executor(), options(), 2);
  int pid = 0;
  {
    auto first = value_of(loop_.await(pool.acquire(10s)));
    auto second = value_of(loop_.await(pool.acquire(10s)));
    pid = second->backend_pid();
    EXPECT_NE(first->backend_pid(), pid);
    const auto third = loop_.await(pool.acquire(50ms));
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, errc::timeout);
    EXPECT_THAT(third.error().detail, HasSubstr("all 2 connections"));
  }
  auto again = value_of(loop_.await(pool.acquire(10s)));
  auto other = value_of(loop_.await(pool.acquire(10s)));
  EXPECT_TRUE(again->backend_pid() == pid || other->backend_pid() == pid);
}

TEST_F(PgPool, who_waits_gets_the_next_that_comes_back) {
  Pool pool(loop_.io().get_executor(), options(), 1);
  std::optional<Pool::Lease> held(value_of(loop_.await(pool.acquire(10s))));
  boost::asio::steady_timer timer(loop_.io(), 20ms);
  timer.async_wait([&](auto) { held.reset(); });
  auto next = value_of(loop_.await(pool.acquire(10s)));
  EXPECT_TRUE(next->is_idle());
}

TEST_F(PgPool, a_connection_that_is_not_idle_is_closed_and_not_used_again) {
  Pool pool(loop_.io().get_executor(), options(), 1);
  int pid = 0;
  {
    auto lease = value_of(loop_.await(pool.acquire(10s)));
    pid = lease->backend_pid();
    expect_ok(loop_.await(lease->exec_script("begin", 10s)));
  }
  {
    auto lease = value_of(loop_.await(pool.acquire(10s)));
    EXPECT_NE(lease->backend_pid(), pid);
    pid = lease->backend_pid();
  }
  PgSession(conninfo_).run("select pg_terminate_backend(" + std::to_string(pid) + ", 5000)");
  auto lease = value_of(loop_.await(pool.acquire(10s)));
  EXPECT_NE(lease->backend_pid(), pid);
  EXPECT_EQ(value(*lease, "select 7"), "7");
}

TEST_F(PgPool, closing_ends_what_runs_and_what_waits) {
  Pool pool(loop_.io().get_executor(), options(), 1);
  auto lease = value_of(loop_.await(pool.acquire(10s)));
  boost::asio::steady_timer timer(loop_.io(), 20ms);
  timer.async_wait([&](auto) { pool.close(); });
  const auto refused = loop_.await(pool.acquire(10s));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unavailable);
  EXPECT_FALSE(lease->is_open());
}

}  // namespace
}  // namespace viewgate::testing
