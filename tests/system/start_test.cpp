// Bad input at the door: whatever keeps the program from starting is one clear line and a status of its own.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// Statuses as docs/operating.md has them.
enum Status : int {
  model = 65,
  no_input = 66,
  database_unavailable = 69,
  port_in_use = 71,
  not_capturable = 73,
  schema_version = 75,
  unsuitable_database = 76,
  config = 78,
  usage = 64
};

Finished serve(const std::string& database, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{program("viewgate"), "serve",       "--database",      database,
                                     "--listen",          "127.0.0.1:0", "--auth-key-file", key_file()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

/// One line, of the program's own.
void expect_one_line(const Finished& finished, int status, const std::string& names) {
  EXPECT_EQ(finished.status, status) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr(names));
  std::string said;
  for (std::size_t at = finished.output.find("viewgate: "); at != std::string::npos;
       at = finished.output.find("viewgate: ", at + 1))
    said += "*";
  EXPECT_EQ(said, "*") << finished.output;
}

class Start : public ::testing::Test {
 protected:
  PostgresCluster& cluster = durable_cluster();
};

TEST_F(Start, no_postgresql_is_told_with_its_place) {
  expect_one_line(serve("host=127.0.0.1 port=" + std::to_string(free_port()) + " dbname=none"), database_unavailable,
                  "refused");
  expect_one_line(serve("host=/nowhere/at/all dbname=none"), database_unavailable, "/nowhere/at/all");
}

TEST_F(Start, a_database_that_does_not_exist_is_told) {
  std::string none = cluster.create_empty_database();
  cluster.drop_database(none);
  expect_one_line(serve(none), database_unavailable, "does not exist");
}

/// Those that come with what is asked for are in docs/scaling.md, too.
TEST_F(Start, a_node_that_nobody_asks_has_the_five_connections_that_the_documents_count) {
  Line fresh(cluster);
  const auto names = [&] {
    return fresh.value(
        "select string_agg(split_part(application_name, ' ', 2), ', ' order by application_name) "
        "from pg_stat_activity where datname = current_database() and application_name like 'viewgate %'");
  };
  std::string last;
  EXPECT_TRUE(eventually([&] { return (last = names()) == "housekeeping, listen, registry, revocations, tail"; }))
      << last;
}

TEST_F(Start, a_port_in_use_is_told_with_the_port) {
  Line& line = Line::shared();
  GatewayProcess& other = line.gateway();
  expect_one_line(run({program("viewgate"), "serve", "--database", line.database(), "--listen", other.address(),
                       "--auth-key-file", key_file()}),
                  port_in_use, std::to_string(other.port()));
}

TEST_F(Start, row_58_fsync_off_is_refused) {
  expect_one_line(serve(PostgresCluster::shared().create_empty_database()), unsuitable_database, "fsync");
}

TEST_F(Start, row_58_a_schema_of_another_version_is_refused) {
  const std::string database = cluster.create_empty_database();
  ASSERT_EQ(run({program("viewgate"), "migrate", "--database", database}).status, 0);
  PgSession(database).run("update viewgate.schema_version set version = version + 1000");
  expect_one_line(serve(database), schema_version, "version");
}

TEST_F(Start, row_58_an_older_schema_is_its_owners_to_migrate) {
  const std::string database = cluster.create_empty_database();
  PgSession owner(database);
  owner.run("do $$ begin create role node_of_the_start login; exception when duplicate_object then null; end $$");
  const std::string node = database + " user=node_of_the_start";
  expect_one_line(serve(node), schema_version,
                  "there is no schema viewgate in this database; node_of_the_start may not");
  ASSERT_EQ(run({program("viewgate"), "migrate", "--database", database}).status, 0);
  owner.run(
      "grant usage on schema viewgate to node_of_the_start;"
      "grant select on viewgate.schema_version to node_of_the_start;"
      "delete from viewgate.schema_version");
  expect_one_line(serve(node), schema_version, "run `viewgate migrate` as the schema's owner");
}

TEST_F(Start, a_role_without_grants_is_told_who_gives_them) {
  const std::string database = cluster.create_empty_database();
  ASSERT_EQ(run({program("viewgate"), "migrate", "--database", database}).status, 0);
  PgSession(database).run(
      "do $$ begin create role node_without_grants login; exception when duplicate_object then null; end $$");
  expect_one_line(serve(database + " user=node_without_grants"), config, "`viewgate grants --role`");
}

TEST_F(Start, a_connection_string_that_is_none_is_told_without_its_password) {
  const std::string wrong = "postgresql://u:s3cret@[::1/x";
  for (const Finished& finished :
       {serve(wrong), run({program("viewgate"), "check", "--database", wrong, "--auth-key-file", key_file()}),
        run({program("viewgate"), "doctor", "--database", wrong})}) {
    expect_one_line(finished, config, "--database: database is not valid, but must be a connection string");
    EXPECT_THAT(finished.output, ::testing::Not(HasSubstr("s3cret")));
  }
}

TEST_F(Start, a_misspelt_table_is_told_as_it_was_given) {
  const std::string database = cluster.create_empty_database();
  PgSession(database).run("create table there (space text, id int primary key)");
  const auto capture = [&](const std::string& table) {
    return run({program("viewgate"), "capture", table, "--space", "space", "--database", database});
  };
  for (const char* table : {"nope", "public.nope", "nowhere.there", "another.public.there"}) {
    expect_one_line(capture(table), not_capturable, "there is no table " + std::string(table) + " in the database");
  }
  EXPECT_EQ(capture("there").status, 0);
  EXPECT_EQ(capture("public.there").status, 0);
  EXPECT_EQ(capture("\"public\".\"there\"").status, 0);
}

TEST_F(Start, a_rule_of_retention_without_a_bound_is_no_rule) {
  const std::string database = cluster.create_empty_database();
  const auto retention = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{program("viewgate"), "retention", "set", "--database", database};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  EXPECT_EQ(retention({"--commits", "7"}).status, 0);
  expect_one_line(retention({}), usage, "retention set needs --commits, --age, or both");
  EXPECT_EQ(PgSession(database).value("select commits from viewgate.retention"), "7") << "the old one stays";
}

TEST_F(Start, nothing_is_said_to_listen_where_the_operators_port_is_taken) {
  Line& line = Line::shared();
  const std::string credential = temporary_path("operators");
  std::ofstream(credential) << "a-credential-of-the-start\n";
  const Finished finished =
      serve(line.database(), {"--admin-listen", line.gateway().address(), "--admin-key-file", credential});
  expect_one_line(finished, port_in_use, std::to_string(line.port()));
  EXPECT_THAT(finished.output, ::testing::Not(HasSubstr("listening ws://")));
  std::filesystem::remove(credential);
}

TEST_F(Start, wrong_settings_are_all_told_at_once) {
  const Finished finished =
      serve("dbname=x", {"--time-hello", "soon", "--threads", "1000", "--auth-algorithm", "none"});
  EXPECT_EQ(finished.status, config);
  EXPECT_THAT(finished.output,
              AllOf(HasSubstr("time-hello"), HasSubstr("threads"), HasSubstr("auth-algorithm"), HasSubstr("HS256")));
}

TEST_F(Start, an_unknown_flag_is_told) {
  const Finished finished = serve("dbname=x", {"--lisen", "1"});
  EXPECT_EQ(finished.status, usage);
  EXPECT_THAT(finished.output, HasSubstr("lisen"));
}

TEST_F(Start, what_is_typed_wrongly_is_told_without_what_may_be_a_password) {
  const std::string whole = "postgresql://viewgate:secret-of-this-test@127.0.0.1/app";
  for (const auto& [arguments, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--databse", whole}, "there is no flag --databse;"},
           {{"--databse=" + whole}, "there is no flag --databse;"},
           {{"--database", "host=127.0.0.1", "password=secret-of-this-test"}, "an argument is one too many"},
           {{"--database", "host=127.0.0.1", "password", "secret-of-this-test"}, "2 arguments are too many"}}) {
    std::vector<std::string> all{program("viewgate"), "serve"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished refused = run(all);
    EXPECT_EQ(refused.status, usage) << refused.output;
    EXPECT_THAT(refused.output, AllOf(HasSubstr(says), ::testing::Not(HasSubstr("secret-of-this-test"))));
  }
}

TEST_F(Start, a_key_file_that_cannot_be_read_is_told) {
  const Finished finished = run({program("viewgate"), "serve", "--database", cluster.create_empty_database(),
                                 "--listen", "127.0.0.1:0", "--auth-key-file", "/no/such/key"});
  EXPECT_EQ(finished.status, no_input) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("/no/such/key"));
}

TEST_F(Start, a_directory_for_bootstraps_that_cannot_be_used_is_told_unless_there_are_to_be_no_files) {
  const std::string nowhere = "/no/such/directory";
  expect_one_line(serve("host=127.0.0.1", {"--snapshot-directory", nowhere}), config,
                  nowhere + " (snapshot.directory)");
  const std::string file = temporary_path("file");
  std::ofstream(file) << "not a directory";
  expect_one_line(serve("host=127.0.0.1", {"--snapshot-directory", file}), config, file);
  std::filesystem::remove(file);
  const std::string none = "host=127.0.0.1 port=" + std::to_string(free_port()) + " dbname=none";
  expect_one_line(serve(none, {"--snapshot-directory", nowhere, "--snapshot-disk-bytes", "0"}), database_unavailable,
                  "refused");
}

struct BadModel {
  const char* text;
  const char* place;  ///< line:column
  const char* names;
};

TEST_F(Start, a_model_error_names_file_line_column_and_what_is_allowed) {
  const std::string database = cluster.create_empty_database();
  PgSession(database).run(items_table);
  const std::string head = "create table items (like public.items) with (space = 'space');\n";
  const std::vector<BadModel> models{
      {"create view v as select id from items where nowhere = 1;", "2:45", "nowhere"},
      {"create view v as select owner from items where a = 1;", "2:", "id"},
      {"create view v as select id from items where now() > '2024-01-01';", "2:45", "now"},
      {"create view v as select id from items where random() < 1;", "2:45", "random"},
      {"create view v as select id from nothing where a = 1;", "2:", "nothing"},
      {"create view v as selct id from items;", "2:18", "selct"},
      {"drop table items;", "2:1", "create"},
      {"create policy p on nothing using (true);", "2:", "nothing"},
  };
  const std::string file = temporary_path("bad.sql");
  for (const BadModel& bad : models) {
    std::ofstream(file) << head << bad.text;
    const Finished finished = run({program("viewgate"), "model", "apply", file, "--database", database});
    EXPECT_EQ(finished.status, model) << bad.text << "\n" << finished.output;
    EXPECT_THAT(finished.output, AllOf(HasSubstr(file + ":" + bad.place), HasSubstr(bad.names))) << bad.text;
  }
  std::filesystem::remove(file);
  EXPECT_EQ(PgSession(database).value("select count(*) from viewgate.model"), "0") << "a wrong model changes nothing";
}

TEST_F(Start, a_table_that_cannot_be_captured_is_told_with_its_reason) {
  const std::string database = cluster.create_empty_database();
  PgSession(database).run(
      "create table no_key (space text, id int); create table parts (space text, id int primary key) partition by "
      "range (id);"
      "create view a_view as select 1 as id, 'x'::text as space; create table parent (space text, id int primary key);"
      "create table child () inherits (parent); alter table child add primary key (id); create unlogged table gone "
      "(space text, id int primary key);"
      "create extension postgres_fdw; create server far foreign data wrapper postgres_fdw; create foreign table away "
      "(space text, id int) server far;");
  const std::vector<std::pair<std::string, std::string>> tables{{"no_key", "primary key"}, {"parts", "partition"},
                                                                {"a_view", "view"},        {"child", "inherit"},
                                                                {"gone", "unlogged"},      {"away", "foreign"}};
  for (const auto& [table, reason] : tables) {
    const Finished finished =
        apply_model("create table t (like public." + table +
                        ") with (space = 'space');\n"
                        "create view v as select id from t where id > 0;\ncreate policy p on v using (true);\n",
                    database);
    EXPECT_THAT(finished.status, ::testing::AnyOf(model, not_capturable)) << table << "\n" << finished.output;
    EXPECT_THAT(finished.output, AllOf(HasSubstr(":1:22: "), HasSubstr(table), HasSubstr(reason))) << table;
  }
  EXPECT_EQ(PgSession(database).value("select count(*) from viewgate.captures"), "0");
}

TEST_F(Start, row_58_a_standby_is_refused) {
  PostgresCluster standby({.durability = ledger::Durability::durable});
  const std::string database = standby.create_empty_database();
  // PostgreSQL with this file in its directory is a standby from its next start on, of whatever primary.
  std::ofstream(PgSession(database).value("show data_directory") + "/standby.signal");
  standby.restart(ledger::Shutdown::fast);
  expect_one_line(serve(database), unsuitable_database, "standby");
}

TEST_F(Start, the_raw_log_is_not_reachable_over_the_network_unless_a_claim_is_configured) {
  Line& line = Line::shared();
  for (const char* path : {"/v1/pull", "/v1/log", "/v1/raw", "/pull", "/v1/commits", "/v1/spaces/s1/pull",
                           "/v1/spaces/s1/log", "/metrics", "/v1/socket?token=x"}) {
    RawSocket socket(line.port());
    socket.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line.reader() +
                "\r\n\r\n");
    EXPECT_THAT(socket.read_until("\r\n"), HasSubstr(" 404 ")) << path;
  }
  WsClient client(line.port(), line.reader());
  client.send(R"({"type":"pull","space":"s1","after":"0"})");
  EXPECT_EQ(client.next().plain("code"), "bad_request");
}

}  // namespace
}  // namespace viewgate::testing
