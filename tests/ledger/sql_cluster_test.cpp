// The private cluster and the migrations: what a start finds, what it leaves, and who may share it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "ledger/embedded.hpp"
#include "ledger/migrate.hpp"
#include "ledger/postgres_programs.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using ledger::Durability;
using ledger::Embedded;
using ledger::EmbeddedOptions;
using ledger::errc;
using ledger::Shutdown;
using ::testing::HasSubstr;

EmbeddedOptions options_for(const std::filesystem::path& directory) {
  EmbeddedOptions options;
  options.directory = directory;
  options.durability = Durability::volatile_;
  return options;
}

std::unique_ptr<Embedded> started(const EmbeddedOptions& options) {
  auto cluster = Embedded::start(options);
  if (!cluster) throw std::runtime_error(cluster.error().detail);
  return std::move(*cluster);
}

TEST(EmbeddedCluster, keeps_its_data_from_one_start_to_the_next) {
  const TemporaryDirectory directory;
  {
    auto cluster = started(options_for(directory.path()));
    PgSession(cluster->conninfo()).run("create table kept (x int); insert into kept values (7)");
  }
  auto cluster = started(options_for(directory.path()));
  EXPECT_EQ(PgSession(cluster->conninfo()).value("select x from kept"), "7");
}

TEST(EmbeddedCluster, is_durable_unless_told_otherwise_and_listens_on_no_port) {
  const TemporaryDirectory directory;
  EmbeddedOptions options;
  options.directory = directory.path();
  auto cluster = started(options);
  PgSession session(cluster->conninfo());
  EXPECT_EQ(session.value("show fsync"), "on");
  EXPECT_EQ(session.value("show full_page_writes"), "on");
  EXPECT_EQ(session.value("show synchronous_commit"), "on");
  EXPECT_EQ(session.value("show listen_addresses"), "");
  EXPECT_EQ(session.value("show server_encoding"), "UTF8");
  struct stat door {};
  ASSERT_EQ(stat(cluster->socket_directory().c_str(), &door), 0);
  EXPECT_EQ(door.st_mode & 0777, 0700U);
}

TEST(EmbeddedCluster, every_way_of_restarting_brings_back_what_was_committed) {
  PostgresCluster cluster;
  const std::string database = cluster.create_database();
  PgSession(database).run("create table kept (x int)");
  int rows = 0;
  for (const Shutdown how : {Shutdown::fast, Shutdown::immediate, Shutdown::kill}) {
    PgSession(database).run("insert into kept values (1)");
    ++rows;
    cluster.restart(how);
    EXPECT_EQ(PgSession(database).value("select count(*) from kept"), std::to_string(rows));
  }
}

TEST(EmbeddedCluster, a_server_that_ends_by_itself_is_started_again_and_one_that_is_stopped_is_not) {
  PostgresCluster cluster;
  const std::string database = cluster.create_database();
  PgSession(database).run("create table kept as select 1 as x");
  for (int i = 0; i < 2; ++i) {
    std::ifstream file(PgSession(database).value("show data_directory") + "/postmaster.pid");
    pid_t server = 0;
    ASSERT_TRUE(file >> server);
    kill(server, SIGKILL);
    EXPECT_TRUE(eventually([&] {
      try {
        PgSession session(database);
        std::ifstream again(session.value("show data_directory") + "/postmaster.pid");
        pid_t other = 0;
        return again >> other && other != server && session.value("select x from kept") == "1";
      } catch (const std::runtime_error&) {
        return false;
      }
    }));
  }
  ASSERT_TRUE(cluster.server().stop(Shutdown::fast));
  EXPECT_FALSE(cluster.server().running());
  EXPECT_FALSE(eventually([&] { return cluster.server().running(); }, std::chrono::milliseconds(1500)));
  ASSERT_TRUE(cluster.server().restart(Shutdown::fast));
}

TEST(EmbeddedCluster, two_processes_do_not_share_a_directory_and_the_refused_one_does_no_harm) {
  const TemporaryDirectory directory;
  auto cluster = started(options_for(directory.path()));
  auto second = Embedded::start(options_for(directory.path()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::unsuitable_database);
  EXPECT_THAT(second.error().detail, HasSubstr("in use by another process"));
  EXPECT_EQ(PgSession(cluster->conninfo()).value("select 1"), "1");
}

TEST(EmbeddedCluster, a_killed_owner_takes_its_server_along_and_the_next_start_works) {
  const TemporaryDirectory directory;
  std::array<int, 2> told{};
  ASSERT_EQ(pipe(told.data()), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    auto cluster = Embedded::start(options_for(directory.path()));
    const char ready = cluster ? 'y' : 'n';
    if (write(told[1], &ready, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char ready = 0;
  ASSERT_EQ(read(told[0], &ready, 1), 1);
  ASSERT_EQ(ready, 'y');
  close(told[0]);
  close(told[1]);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  auto cluster = started(options_for(directory.path()));
  EXPECT_EQ(PgSession(cluster->conninfo()).value("select 1"), "1");
}

TEST(EmbeddedCluster, a_stale_pid_file_that_names_a_living_stranger_is_cleared) {
  const TemporaryDirectory directory;
  started(options_for(directory.path())).reset();
  std::ofstream(directory.path() / "data" / "postmaster.pid") << getppid() << "\n";
  auto cluster = started(options_for(directory.path()));
  EXPECT_EQ(PgSession(cluster->conninfo()).value("select 1"), "1");
}

TEST(EmbeddedCluster, an_unfinished_first_start_is_begun_anew) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "data.new" / "base");
  auto cluster = started(options_for(directory.path()));
  EXPECT_EQ(PgSession(cluster->conninfo()).value("select 1"), "1");
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "data.new"));
}

TEST(EmbeddedCluster, a_directory_too_deep_for_a_socket_name_works) {
  const TemporaryDirectory directory;
  auto cluster = started(options_for(directory.path() / std::string(60, 'a') / std::string(60, 'b')));
  const auto door = cluster->socket_directory();
  EXPECT_LT(door.string().size(), 80U);
  EXPECT_EQ(PgSession(cluster->conninfo()).value("select 1"), "1");
  cluster.reset();
  std::filesystem::remove_all(door);
}

TEST(EmbeddedCluster, a_directory_that_the_servers_user_cannot_enter_is_named) {
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
  auto cluster = Embedded::start(options_for(directory.path() / "inner"));
  // Only root has the server run as somebody else.
  ASSERT_EQ(bool(cluster), ::geteuid() != 0);
  if (cluster) return;
  EXPECT_EQ(cluster.error().code, errc::unsuitable_database);
  EXPECT_THAT(cluster.error().detail, HasSubstr("inner cannot be entered by user"));
}

TEST(EmbeddedCluster, a_folder_without_the_programs_is_named) {
  const TemporaryDirectory directory;
  auto options = options_for(directory.path());
  options.programs = "/nowhere/bin";
  auto cluster = Embedded::start(options);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().code, errc::programs_missing);
  EXPECT_THAT(cluster.error().detail, HasSubstr("/nowhere/bin"));
}

TEST(EmbeddedCluster, a_version_that_is_not_installed_is_named) {
  auto found = ledger::find_postgres_programs("", 7);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::programs_missing);
  EXPECT_THAT(found.error().detail, HasSubstr("PostgreSQL 7's programs were not found"));
}

TEST(EmbeddedCluster, a_setting_that_postgres_refuses_is_told_with_its_own_words) {
  const TemporaryDirectory directory;
  auto options = options_for(directory.path());
  options.settings = {"max_connections=plenty"};
  auto cluster = Embedded::start(options);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().code, errc::unavailable);
  EXPECT_THAT(cluster.error().detail, HasSubstr("max_connections"));
}

TEST(Migrations, from_four_nodes_at_once_apply_once) {
  const std::string database = PostgresCluster::shared().create_empty_database();
  std::vector<std::string> complaints(4);
  {
    std::vector<std::jthread> nodes;
    for (std::string& complaint : complaints) {
      nodes.emplace_back([&database, &complaint] {
        auto migrated = ledger::migrate(database);
        if (!migrated) complaint = migrated.error().detail;
      });
    }
  }
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
  PgSession session(database);
  EXPECT_EQ(session.value("select count(*) from viewgate.schema_version"), std::to_string(ledger::schema_version()));
  EXPECT_EQ(*ledger::schema_version_of(session.raw()), ledger::schema_version());
}

TEST(Migrations, work_where_the_role_has_odd_settings) {
  const std::string database = PostgresCluster::shared().create_empty_database();
  PgSession session(database);
  session.run(
      "set default_transaction_isolation = serializable; set search_path = ''; set client_encoding = latin1;"
      "set standard_conforming_strings = off; set synchronous_commit = off; set statement_timeout = '1s'");
  auto migrated = ledger::migrate(session.raw());
  EXPECT_TRUE(migrated) << migrated.error().detail;
}

TEST(Migrations, a_newer_schema_is_refused_and_left_alone) {
  const std::string database = PostgresCluster::shared().create_database();
  PgSession session(database);
  session.run("insert into viewgate.schema_version (version, hash) values (99, 'x')");
  auto migrated = ledger::migrate(session.raw());
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, errc::wrong_schema_version);
  EXPECT_THAT(migrated.error().detail, HasSubstr("version 99"));
  EXPECT_EQ(session.value("select max(version) from viewgate.schema_version"), "99");
}

TEST(Migrations, another_builds_schema_of_the_same_number_is_refused) {
  const std::string database = PostgresCluster::shared().create_database();
  PgSession session(database);
  session.run("update viewgate.schema_version set hash = 'another'");
  auto migrated = ledger::migrate(session.raw());
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, errc::wrong_schema_version);
  EXPECT_THAT(migrated.error().detail, HasSubstr("another build"));
}

/// This program's steps, and behind them those of later versions.
std::vector<ledger::Migration> with_later(std::initializer_list<std::string_view> later) {
  std::vector<ledger::Migration> steps(ledger::migrations().begin(), ledger::migrations().end());
  for (const std::string_view sql : later) {
    ledger::Migration step{ledger::schema_version() + 1 + static_cast<int>(steps.size() - ledger::migrations().size()),
                           "a_later_one", sql};
    steps.push_back(step);
  }
  return steps;
}

TEST(Migrations, of_a_later_version_are_added_once_to_a_ledger_with_commits_which_this_program_then_refuses) {
  const std::string database = PostgresCluster::shared().create_database();
  PgSession session(database);
  session.run(
      R"(select viewgate.append('s', '[{"collection": "notes", "key": [1], "put": {}}]'); select viewgate.look())");
  const auto steps = with_later({"alter table viewgate.commits add column later text default 'x'",
                                 "create table viewgate.much_later (id int primary key)"});
  std::vector<std::string> complaints(4);
  {
    std::vector<std::jthread> nodes;
    for (std::string& complaint : complaints) {
      nodes.emplace_back([&database, &complaint, &steps] {
        PgSession node(database);
        auto migrated = ledger::migrate(node.raw(), steps);
        if (!migrated) complaint = migrated.error().detail;
      });
    }
  }
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
  EXPECT_EQ(session.value("select count(*) from viewgate.schema_version"),
            std::to_string(ledger::schema_version() + 2));
  EXPECT_EQ(session.value("select later || sequence from viewgate.commits"), "x1");
  EXPECT_EQ(session.value("select count(*) from viewgate.much_later"), "0");
  const auto refused = ledger::migrate(session.raw());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("run the newer program"));
}

TEST(Migrations, one_that_fails_leaves_the_version_of_before_whole) {
  PgSession session(PostgresCluster::shared().create_database());
  const auto steps = with_later({"create table viewgate.later (id int primary key)", "create table viewgate.later ()"});
  const auto failed = ledger::migrate(session.raw(), steps);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::rejected);
  EXPECT_THAT(failed.error().detail, HasSubstr("migration a_later_one: ERROR:  relation \"later\" already exists"));
  EXPECT_EQ(session.value("select to_regclass('viewgate.later') is null"), "t");
  EXPECT_EQ(*ledger::schema_version_of(session.raw()), ledger::schema_version());
  EXPECT_TRUE(ledger::migrate(session.raw()));
}

TEST(Migrations, no_database_is_unavailable) {
  auto migrated = ledger::migrate("host=/nowhere dbname=x");
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, errc::unavailable);
}

/// Later versions add to what stands there and take nothing away, so that a program of the frozen version goes on beside them.
TEST(Migrations, leave_every_column_of_the_frozen_version_as_it_was) {
  PgSession session(PostgresCluster::shared().create_database());
  const std::string now = session.value(
      "select string_agg(format(e'%s.%s %s%s\n', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), case when "
      "a.attnotnull then ' not null' else '' end), '' order by c.relname collate \"C\", a.attnum) from pg_attribute a "
      "join "
      "pg_class c on c.oid = a.attrelid where c.relnamespace = 'viewgate'::regnamespace and c.relkind in ('r', 'v') "
      "and "
      "a.attnum > 0 and not a.attisdropped");
  std::ifstream frozen(VIEWGATE_SOURCE_DIR "/tests/golden/frozen/schema.txt");
  int lines = 0;
  for (std::string line; std::getline(frozen, line); ++lines) {
    EXPECT_NE(("\n" + now).find("\n" + line + "\n"), std::string::npos) << line;
  }
  EXPECT_GT(lines, 50) << now;
}

}  // namespace
}  // namespace viewgate::testing
