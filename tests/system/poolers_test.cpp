// Debian's pgbouncer between the gateway and PostgreSQL: in a mode that has no sessions it is refused in one clear line, in session mode
// everything works; and the application's own writers may come through any of them.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* pgbouncer = "/usr/sbin/pgbouncer";
constexpr int unsuitable_database = 76;

bool can_be_tested() {
  if (std::filesystem::exists(pgbouncer)) return true;
  std::cout << "NOT TESTED HERE: Debian's pgbouncer is not installed\n";
  return false;
}

/// A pgbouncer of the test's own before its cluster, in this pool mode. Started by root it runs as `postgres`, since it refuses root.
class Pooler {
 public:
  Pooler(PostgresCluster& cluster, const std::string& mode) : port_(free_port()) {
    const std::string file = (directory_.path() / "pgbouncer.ini").string();
    const std::string log = (directory_.path() / "log").string();
    std::ofstream(file) << "[databases]\n* = host=" << cluster.server().socket_directory().string()
                        << " port=5432 user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
                        << "\nunix_socket_dir =\nauth_type = any\npool_mode = " << mode << "\ndefault_pool_size = 40\n"
                        << "ignore_startup_parameters = extra_float_digits,options\nlogfile = " << log << "\n";
    const bool is_root = ::geteuid() == 0;
    if (is_root) std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
    ChildOptions options;
    options.arguments =
        is_root ? std::vector<std::string>{"/usr/sbin/runuser", "-u", "postgres", "--", pgbouncer, "-q", file}
                : std::vector<std::string>{pgbouncer, "-q", file};
    options.output_file = (directory_.path() / "output").string();
    child_ = std::make_unique<ChildProcess>(options);
    const bool listens =
        eventually([&] { return file_text(log).find("process up") != std::string::npos; }, std::chrono::minutes(1));
    if (!listens)
      throw std::runtime_error("pgbouncer does not start: " + file_text(log) + file_text(options.output_file));
  }
  ~Pooler() {
    child_->signal(SIGTERM);
    child_->wait(std::chrono::seconds(10));
  }
  Pooler(const Pooler&) = delete;
  Pooler& operator=(const Pooler&) = delete;

  /// Through it, to this database.
  std::string to(const std::string& database) const {
    const std::string name = PgSession(database).value("select current_database()");
    return "host=127.0.0.1 port=" + std::to_string(port_) + " user=postgres dbname=" + name +
           " sslmode=disable gssencmode=disable";
  }

 private:
  TemporaryDirectory directory_;
  const std::uint16_t port_;
  std::unique_ptr<ChildProcess> child_;
};

TEST(Poolers, row_58_pgbouncer_without_sessions_is_refused_in_one_line) {
  if (!can_be_tested()) return;
  const std::string database = durable_cluster().create_empty_database();
  for (const char* mode : {"transaction", "statement"}) {
    SCOPED_TRACE(mode);
    const Pooler pooler(durable_cluster(), mode);
    const Finished refused = run({program("viewgate"), "serve", "--database", pooler.to(database), "--listen",
                                  "127.0.0.1:0", "--auth-key-file", key_file()},
                                 std::chrono::minutes(1));
    EXPECT_EQ(refused.status, unsuitable_database) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(std::string("a pooler in ") + mode + " mode"));
    EXPECT_EQ(std::ranges::count(refused.output, '\n'), 1) << refused.output;
    const Finished doctor =
        run({program("viewgate"), "doctor", "--database", pooler.to(database)}, std::chrono::minutes(1));
    EXPECT_THAT(doctor.output, HasSubstr(std::string("a pooler in ") + mode + " mode"));
  }
}

TEST(Poolers, pgbouncer_in_session_mode_carries_a_gateway_and_in_transaction_mode_the_applications_writers) {
  if (!can_be_tested()) return;
  Line line(durable_cluster());
  const Pooler of_sessions(durable_cluster(), "session"), of_transactions(durable_cluster(), "transaction");
  GatewayOptions options = line.gateway_options();
  options.database = of_sessions.to(line.database());
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  WsClient client(gateway.port(), line.reader(), "c");
  client.open({.space = space, .view = "everything"});
  WsClient notes(gateway.port(), line.reader());
  notes.open({.space = space, .view = "all_notes"});
  PgSession writer(of_transactions.to(line.database()));
  writer.query("insert into items (space, id, status) values ($1, 5801, 'open')", {space});
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[5801]"));
  writer.query(
      R"(select viewgate.append($1, '[{"collection": "notes", "key": [1], "put": {"id": 1, "title": "by a back-end"}}]'))",
      {space});
  EXPECT_THAT(notes.next_of("commit").text, HasSubstr("by a back-end"));
  client.mutate(space, 1, R"([{"kind":"create","collection":"labels","key":["x"],"record":{"colour":"red"}}])");
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("applied"));
}

}  // namespace
}  // namespace viewgate::testing
