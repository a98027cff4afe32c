// Goal: what an operator relies on while a node runs. Its service manager hears of its states, and of its life only while all of its
// loops turn; a changed configuration is taken or named, and a wrong one changes nothing; what is wrong is found before a start.
// Method: the built program, a real PostgreSQL, a socket in the service manager's place, and single threads stopped by ptrace(2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/http_client.hpp"
#include "support/line.hpp"
#include "support/notify_socket.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int config_status = 78;

/// A file that goes with the test.
class File {
 public:
  explicit File(const std::string& name, const std::string& text = "") : path(temporary_path(name)) { write(text); }
  ~File() { std::filesystem::remove(path); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write(const std::string& text) const { std::ofstream(path, std::ios::trunc) << text; }

  const std::string path;
};

/// A thread of another process that stands still as long as this lives.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t thread) : thread_(thread) {
    stopped_ = ::ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) == 0 &&
               ::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) == 0 &&
               ::waitpid(thread_, nullptr, __WALL) == thread_;
  }
  ~StoppedThread() { ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr); }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;
  bool stopped() const { return stopped_; }

 private:
  const pid_t thread_;
  bool stopped_ = false;
};

pid_t thread_named(pid_t process, const std::string& name) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    if (file_text(each.path() / "comm") == name + "\n") return std::stoi(each.path().filename());
  }
  return 0;
}

/// A process that stands still as long as this lives, and to which signals come that wait for it.
class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t pid) : pid_(pid) { ::kill(pid_, SIGSTOP); }
  ~StoppedProcess() { ::kill(pid_, SIGCONT); }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;
  bool awaits(int signal) const {
    const std::string status = file_text("/proc/" + std::to_string(pid_) + "/status"), name = "ShdPnd:";
    const auto at = status.find(name);
    return at != std::string::npos &&
           (std::stoull(status.substr(at + name.size()), nullptr, 16) >> (signal - 1) & 1U) != 0;
  }

 private:
  const pid_t pid_;
};

class Running : public ::testing::Test {
 protected:
  /// The file's settings must not be hidden by flags.
  GatewayOptions with_file(const File& file) {
    GatewayOptions out = line.gateway_options();
    out.flags = {"--config", file.path, "--ledger-look-idle", "100ms"};
    return out;
  }
  bool logged(GatewayProcess& gateway, const std::string& text) {
    return eventually([&] { return gateway.log().find(text) != std::string::npos; }, patient(std::chrono::seconds(20)));
  }
  /// The first line of the answer to an upgrade from a page of this origin.
  std::string upgrade_from(GatewayProcess& gateway, const std::string& origin) {
    RawSocket socket(gateway.port());
    socket.send(upgrade_bytes({.extra_headers = "Origin: " + origin + "\r\n"}));
    return socket.read_until("\r\n");
  }

  Line& line = Line::shared();
};

TEST_F(Running, the_service_manager_hears_of_start_reload_and_end) {
  NotifySocket manager;
  GatewayOptions options = line.gateway_options();
  options.set("--time-drain", "3s");
  options.environment = {{"NOTIFY_SOCKET", manager.path()}};
  GatewayProcess gateway(options);
  EXPECT_EQ(manager.next().value_or(""), "READY=1\nSTATUS=listening on " + gateway.address());
  gateway.process().signal(SIGHUP);
  EXPECT_THAT(manager.next().value_or(""), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_THAT(manager.next().value_or(""), StartsWith("READY=1\n"));
  gateway.process().signal(SIGTERM);
  EXPECT_THAT(manager.next().value_or(""), AllOf(StartsWith("STOPPING=1\n"), HasSubstr("EXTEND_TIMEOUT_USEC=4")));
  EXPECT_EQ(gateway.process().wait(patient(std::chrono::seconds(20))), 0);
  EXPECT_FALSE(manager.next(std::chrono::milliseconds(0)));  // nobody asked for signs of life
}

TEST_F(Running, the_watchdog_hears_signs_of_life_only_while_the_engine_and_every_reactor_turn) {
  constexpr std::chrono::milliseconds three_looks{1500};
  const std::string alive = "WATCHDOG=1";
  NotifySocket manager;
  GatewayOptions options = line.gateway_options();
  options.set("--threads", "2");
  options.environment = {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "2000000"}};
  GatewayProcess gateway(options);
  const pid_t process = gateway.process().pid();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(manager.next_of(alive));
  {
    const StoppedThread reactor(thread_named(process, "reactor-1"));
    ASSERT_TRUE(reactor.stopped());
    ASSERT_TRUE(logged(gateway, "reactor_stands_still reactor=1"));
    manager.clear();
    EXPECT_FALSE(manager.next_of(alive, three_looks));
  }
  EXPECT_TRUE(manager.next_of(alive));
  EXPECT_TRUE(logged(gateway, "reactor_turns_again reactor=1"));
  {
    const StoppedThread engine(process);
    ASSERT_TRUE(engine.stopped());
    manager.clear();
    EXPECT_FALSE(manager.next_of(alive, three_looks));
  }
  EXPECT_TRUE(manager.next_of(alive));
}

TEST_F(Running, a_changed_file_is_taken_where_that_is_safe_and_the_rest_is_named) {
  const File file("reload.toml", "threads = 1\norigins = [\"https://a.example\"]\n[limit]\nsubscriptions = 1\n");
  GatewayProcess gateway(with_file(file));
  const std::string space = line.new_space();
  WsClient client(gateway.port(), line.reader());
  client.open({.id = "one", .space = space});
  client.send(subscribe_text({.id = "two", .space = space}));
  EXPECT_EQ(client.next_of("error").plain("code"), "too_many_subscriptions");
  EXPECT_THAT(upgrade_from(gateway, "https://b.example"), HasSubstr(" 403 "));

  file.write("threads = 2\norigins = [\"https://b.example\"]\n[limit]\nsubscriptions = 2\n[log]\nlevel = \"warn\"\n");
  gateway.process().signal(SIGHUP);
  ASSERT_TRUE(logged(gateway, "config_reloaded taken=\"origins,limit.subscriptions,log.level\" needs_restart=threads"));
  EXPECT_TRUE(
      eventually([&] { return upgrade_from(gateway, "https://b.example").find(" 101 ") != std::string::npos; }));
  EXPECT_THAT(upgrade_from(gateway, "https://a.example"), HasSubstr(" 403 "));
  client.open({.id = "two", .space = space});  // on the socket that was there
}

TEST_F(Running, another_rate_for_slow_readers_counts_for_gets_of_views_too) {
  // The reader takes something all the time, and of what there is for it far too little: by the first rate it had an hour.
  const std::string patience_of_the_gateway =
      "[time]\nno_progress = \"" + patient_flag(std::chrono::seconds(4)) + "\"\n";
  const File file("rate.toml", patience_of_the_gateway);
  GatewayProcess gateway(with_file(file));
  const std::string space = line.new_space();
  line.session().query(
      "insert into items (space, id, status, x) select $1, nextval('items_id'), 'open', repeat('x', 2000) from "
      "generate_series(1, 15000)",
      {space});  // 30 MB
  line.settled_head(space);
  file.write(patience_of_the_gateway + "[limit]\nsnapshot_rate = \"1GiB\"\n");
  gateway.process().signal(SIGHUP);
  ASSERT_TRUE(logged(gateway, "config_reloaded taken=limit.snapshot_rate needs_restart=none"));
  RawSocket reader(gateway.port(), 4096);
  reader.send(get_text("/v1/spaces/" + space + "/views/everything", line.reader()));
  ASSERT_THAT(reader.read_until("\r\n"), HasSubstr(" 200 "));
  // At most two megabytes a second, which is its pace and nothing that is waited for.
  constexpr std::size_t at_once = 65536 / slowness;
  while (reader.read_exactly(at_once)) std::this_thread::sleep_for(std::chrono::milliseconds(32));
  EXPECT_THAT(gateway.log(), HasSubstr("reason=too_slow"));
  line.session().query("delete from items where space = $1", {space});
}

TEST_F(Running, a_wrong_file_leaves_the_configuration_in_force_and_says_so_in_one_line) {
  const File file("wrong.toml", "origins = [\"https://a.example\"]\n");
  GatewayProcess gateway(with_file(file));
  file.write("origins = [\"https://b.example\"]\nthreads = \"many\"\nlimits = 1\n");
  gateway.process().signal(SIGHUP);
  ASSERT_TRUE(logged(gateway, "config_not_reloaded"));
  const std::string log = gateway.log();
  const auto line_begin = log.find("config_not_reloaded");
  EXPECT_THAT(log.substr(line_begin, log.find('\n', line_begin) - line_begin),
              AllOf(HasSubstr(file.path + ":2: threads is"), HasSubstr(file.path + ":3: there is no setting")));
  EXPECT_THAT(upgrade_from(gateway, "https://a.example"), HasSubstr(" 101 "));
  EXPECT_THAT(upgrade_from(gateway, "https://b.example"), HasSubstr(" 403 "));

  // What is right in itself, but names a key that is not there, is not taken by half either.
  file.write("origins = [\"https://b.example\"]\n[auth]\nissuers = \"/nowhere/issuers.toml\"\n");
  gateway.process().signal(SIGHUP);
  ASSERT_TRUE(logged(gateway, "/nowhere/issuers.toml cannot be read"));
  EXPECT_THAT(upgrade_from(gateway, "https://b.example"), HasSubstr(" 403 "));
}

TEST_F(Running, what_is_no_file_in_the_place_of_one_holds_up_nobody_and_changes_nothing) {
  const std::string secret = file_text(key_file()), credential = "a-credential-of-these-tests";
  const File key("places.key", secret), admin("places.admin", credential);
  const File issuers("places.toml");
  const std::string table =
      "[[issuer]]\nname = \"viewgate\"\naudience = \"viewgate\"\n"
      "[[issuer.key]]\nid = \"k\"\nalgorithm = \"HS256\"\nfile = \"" +
      key.path + "\"\n";
  issuers.write(table);
  const std::string others = "[auth]\nissuers = \"" + issuers.path +
                             "\"\n[admin]\nlisten = \"127.0.0.1:0\"\nkey_file = \"" + admin.path + "\"\n";
  const File file("places_config.toml", "origins = [\"https://a.example\"]\n" + others);
  GatewayProcess gateway(with_file(file));
  WsClient client(gateway.port(), line.reader());
  ASSERT_EQ(client.welcome().type(), "welcome");
  // Whatever is not read, this is not taken either.
  const std::string changed = "origins = [\"https://b.example\"]\n" + others;
  const auto expect_refused = [&](const File& place, const std::string& what) {
    const std::size_t before = gateway.log().size();
    gateway.process().signal(SIGHUP);
    ASSERT_TRUE(eventually([&] { return gateway.log().find("config_not_reloaded", before) != std::string::npos; }) &&
                eventually([&] { return gateway.log().find(place.path + " " + what, before) != std::string::npos; }))
        << place.path << " " << what << ": " << gateway.log().substr(before);
    EXPECT_THAT(upgrade_from(gateway, "https://a.example"), HasSubstr(" 101 "));
    EXPECT_THAT(upgrade_from(gateway, "https://b.example"), HasSubstr(" 403 "));
    WsClient another(gateway.port(), line.reader());
    EXPECT_EQ(another.welcome().type(), "welcome");
  };
  const std::vector<std::pair<const File*, std::string>> places{
      {&file, changed}, {&issuers, table}, {&key, secret}, {&admin, credential}};
  for (const auto& [place, text] : places) {
    if (place != &file) file.write(changed);
    std::filesystem::remove(place->path);
    ASSERT_EQ(::mkfifo(place->path.c_str(), 0600), 0);
    expect_refused(*place, "is no regular file");
    std::filesystem::remove(place->path);
    std::filesystem::create_symlink("/dev/zero", place->path);
    expect_refused(*place, "is no regular file");
    std::filesystem::remove(place->path);
    std::filesystem::create_directory(place->path);
    expect_refused(*place, "is a directory");
    std::filesystem::remove(place->path);
    place->write(text);
    std::filesystem::resize_file(place->path, std::uintmax_t{1} << 30);
    expect_refused(*place, "is larger than 1024 KiB");
    place->write(text);
  }
  gateway.process().signal(SIGHUP);
  ASSERT_TRUE(logged(gateway, "config_reloaded taken=origins"));
}

TEST_F(Running, a_start_takes_its_files_from_pipes_and_a_reload_does_not) {
  const File script("start.sh");
  const std::string log = temporary_path("pipes.log");
  script.write("exec " + program("viewgate") +
               " serve --listen 127.0.0.1:0 --config <(sleep 0.2; printf 'origins = [\"https://a.example\"]\\n'; sleep "
               "0.2; printf 'database = \"" +
               line.database() + "\"\\n') --auth-key-file <(sleep 0.2; cat " + key_file() + ")\n");
  const ChildOptions options{{"/bin/bash", script.path}, {}, {}, log};
  ChildProcess gateway(options);
  const auto comes = [&](const std::string& text) {
    return eventually([&] { return file_text(log).find(text) != std::string::npos; },
                      patient(std::chrono::seconds(20)));
  };
  ASSERT_TRUE(comes("listening ws://")) << file_text(log);
  gateway.signal(SIGHUP);
  EXPECT_TRUE(comes("config_not_reloaded reason=\"/dev/fd/")) << file_text(log);
  EXPECT_THAT(file_text(log), HasSubstr("is no regular file"));
  gateway.signal(SIGTERM);
  EXPECT_EQ(gateway.wait(patient(std::chrono::seconds(20))), 0);
  std::filesystem::remove(log);
}

TEST_F(Running, another_issuer_table_lets_its_tokens_in_and_ends_those_of_issuers_that_are_gone) {
  const File file("issuers.toml");
  GatewayProcess gateway(with_file(file));
  WsClient client(gateway.port(), line.reader());
  ASSERT_EQ(client.welcome().type(), "welcome");
  file.write("[auth]\nissuer = \"another\"\n");
  gateway.process().signal(SIGHUP);
  EXPECT_EQ(client.closed_with(), 4005);
  const std::string hello = R"({"type":"hello","protocol":1,"token":")" + line.reader() + "\"}";
  WsClient late(gateway.port());
  late.send(hello);
  EXPECT_EQ(late.closed_with(), 4001);
  file.write("");
  gateway.process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] {  // the one who comes before the file was read is refused, as is right
    WsClient client_again(gateway.port());
    client_again.send(hello);
    return client_again.next().type() == "welcome";
  }));
}

TEST_F(Running, check_tells_all_that_is_wrong_with_a_configuration_and_its_files_at_once) {
  const File file("check.toml", "threads = 65\nlisten = \"localhost:8080\"\n[time]\nhello = 5\n");
  Finished checked = run({program("viewgate"), "check", "--config", file.path});
  EXPECT_EQ(checked.status, config_status);
  EXPECT_THAT(
      checked.output,
      AllOf(HasSubstr(file.path + ":1: threads is"), HasSubstr(file.path + ":4: time.hello is"),
            HasSubstr(file.path + ":2: listen is \"localhost:8080\", but must be an address, not a name, and a port")));

  file.write(
      "ready_file = \"/nowhere/ready\"\n[auth]\nkey_file = \"/nowhere/key\"\n[snapshot]\ndirectory = "
      "\"/nowhere/files\"\n[admin]\nkey_file = \"" +
      file.path + "\"\n[tls]\ncertificate = \"/nowhere/certificate\"\nkey = \"/nowhere/tls.key\"\n");
  checked = run({program("viewgate"), "check", "--config", file.path, "--pid-file", file.path + "/pid"});
  EXPECT_EQ(checked.status, config_status);
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("--database must say"), HasSubstr(":3: auth.key_file: /nowhere/key cannot be read"),
                    HasSubstr(":7: admin.key_file must hold at least 16"),
                    HasSubstr(":9: tls.certificate: /nowhere/certificate cannot"),
                    HasSubstr(":10: tls.key: /nowhere/tls.key cannot"), HasSubstr(":5: snapshot.directory: "),
                    HasSubstr("/nowhere/files (snapshot.directory)"),
                    HasSubstr(":1: ready_file: /nowhere/ready cannot be written: /nowhere must be a directory"),
                    HasSubstr("--pid-file: pid_file: " + file.path + "/pid cannot be written")));

  const File issuers(
      "check_issuers.toml",
      "[[issuer]]\nnam = \"a\"\nwhat = 1\nalgorithms = [\"none\"]\njwks_url = \"ftp://x\"\n"
      "[[issuer]]\nname = \"b\"\naudience = \"v\"\n[[issuer.key]]\nalgorithm = \"HS256\"\nfile = \"nowhere\"\n"
      "[[issuer.key]]\nid = \"k\"\n");
  file.write("database = \"dbname=x\"\n[auth]\nissuers = \"" + issuers.path + "\"\n");
  checked = run({program("viewgate"), "check", "--config", file.path});
  EXPECT_EQ(checked.status, config_status);
  EXPECT_THAT(checked.output, AllOf(HasSubstr(":2: nam is not known"), HasSubstr(":3: what is not known"),
                                    HasSubstr(":1: name must be"), HasSubstr(":1: audience must be"),
                                    HasSubstr(":4: algorithm must be"), HasSubstr(":1: jwks_url must be"),
                                    HasSubstr(":9: id must be"), HasSubstr("nowhere cannot be read"),
                                    HasSubstr(":12: algorithm must be"), HasSubstr(":12: file must be")));

  file.write("database = \"" + line.database() + "\"\n[auth]\nkey_file = \"" + key_file() + "\"\n");
  // As an editor may write it, with a byte order mark.
  const File model("check.sql",
                   "\xEF\xBB\xBF"
                   "create table t (id int4 primary key);\ncreate view v as select id from t;\n");
  checked = run({program("viewgate"), "check", "--config", file.path, model.path});
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_THAT(checked.output, AllOf(HasSubstr("configuration: no problems"), HasSubstr("1 views, no problems")));
}

TEST_F(Running, a_short_secret_is_told_with_the_place_that_names_it) {
  const File secret("short.key", "short\n");
  const File file("check.toml", "database = \"dbname=x\"\n[auth]\nkey_file = \"" + secret.path + "\"\n");
  const Finished checked = run({program("viewgate"), "check", "--config", file.path});
  EXPECT_EQ(checked.status, config_status);
  EXPECT_THAT(checked.output, HasSubstr(file.path + ":3: auth.key_file: token key "));
}

// Its PostgreSQL stands still, so that no signal comes when the gateway itself is gone by half.
TEST_F(Running, a_hangup_ends_nothing_while_a_private_postgresql_stops) {
  const std::string directory = temporary_path("hangup");
  const File ready("hangup_ready"), output("hangup_output");
  ChildOptions options;
  options.arguments = {program("viewgate"), "serve",        "--embedded", directory,      "--listen",
                       "127.0.0.1:0",       "--ready-file", ready.path,   "--time-drain", "0ms"};
  options.output_file = output.path;
  {
    ChildProcess gateway(options);
    ASSERT_TRUE(eventually([&] { return !file_text(ready.path).empty(); }, patient(std::chrono::seconds(60))))
        << file_text(output.path);
    {
      const StoppedProcess postgres(std::stoi(file_text(directory + "/data/postmaster.pid")));
      gateway.signal(SIGTERM);
      ASSERT_TRUE(eventually([&] { return postgres.awaits(SIGINT); }, patient(std::chrono::seconds(30))))
          << file_text(output.path);
      for (int i = 0; i < 100; ++i) gateway.signal(SIGHUP);
    }
    EXPECT_EQ(gateway.wait(patient(std::chrono::seconds(60))), 0) << file_text(output.path);
  }
  EXPECT_FALSE(std::filesystem::exists(directory + "/data/postmaster.pid"));
  std::filesystem::remove_all(directory);
}

TEST_F(Running, the_health_check_finds_the_file_that_the_environment_names) {
  const File file("health.toml", "listen = \"" + line.gateway().address() + "\"\n");
  const std::string named = "VIEWGATE_CONFIG=" + file.path;
  const Finished healthy = run({"/usr/bin/env", named, program("viewgate"), "healthcheck"});
  const Finished flagged =
      run({"/usr/bin/env", named, program("viewgate"), "healthcheck", "--config", "/nowhere.toml"});
  EXPECT_EQ(healthy.status, 0) << healthy.output;
  EXPECT_EQ(flagged.status, config_status) << "the flag wins";
  EXPECT_THAT(flagged.output, HasSubstr("/nowhere.toml"));
}

TEST_F(Running, the_health_check_says_whether_the_node_takes_clients) {
  const std::string address = line.gateway().address();
  EXPECT_EQ(run({program("viewgate"), "healthcheck", "--listen", address}).status, 0);
  const Finished other =
      run({program("viewgate"), "healthcheck", "--listen", address, "--tls-certificate", "x", "--tls-key", "x"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.output, HasSubstr("does not answer as viewgate does with TLS"));
  const Finished nobody =
      run({program("viewgate"), "healthcheck", "--listen", "0.0.0.0:" + std::to_string(free_port())});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_THAT(nobody.output, HasSubstr("nobody answers on 127.0.0.1:"));
}

}  // namespace
}  // namespace viewgate::testing
