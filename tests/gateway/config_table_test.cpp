// Goal: one table decides about keys, flags, environment, file and documentation, and everything wrong is told at once
// with what would be right. Method: the reader alone, files in a scratch directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "gateway/advice.hpp"
#include "gateway/config.hpp"
#include "gateway/errors.hpp"
#include "gateway/reference.hpp"
#include "golden_files.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Config config_of(const ConfigSources& sources) {
  auto read = read_config(sources);
  if (const auto* problems = std::get_if<std::vector<std::string>>(&read)) ADD_FAILURE() << problems->at(0);
  return std::get<Config>(read);
}
std::vector<std::string> problems_of(const ConfigSources& sources) {
  return std::get<std::vector<std::string>>(read_config(sources));
}

class File {
 public:
  explicit File(const std::string& text) : path_(std::filesystem::path(::testing::TempDir()) / "viewgate_config.toml") {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ConfigTable, the_defaults_are_valid) {
  const auto config = config_of({});
  EXPECT_EQ(config.listen, "127.0.0.1:8080");
  EXPECT_EQ(config.time_heartbeat, std::chrono::seconds(20));
  EXPECT_EQ(config.limit_message_bytes, 64 * 1024);
}

TEST(ConfigTable, a_flag_wins_over_the_environment_and_that_over_the_file) {
  const File file("threads = 3\n[auth]\nissuer = \"file\"\naudience = \"file\"\n[time]\nhello = \"250ms\"\n");
  ConfigSources sources;
  sources.file = file.path();
  sources.environment = {{"VIEWGATE_AUTH_ISSUER", "environment"}, {"VIEWGATE_AUTH_AUDIENCE", "environment"}};
  sources.flags = {{"auth.issuer", "flag"}};
  const auto config = config_of(sources);
  EXPECT_EQ(config.auth_issuer, "flag");
  EXPECT_EQ(config.auth_audience, "environment");
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.time_hello, std::chrono::milliseconds(250));
}

TEST(ConfigTable, all_problems_are_told_at_once_each_with_its_place_and_what_is_right) {
  const File file("threads = 65\ntreads = 1\n[auth]\nalgorithm = \"none\"\n[time]\nhello = 5\n");
  ConfigSources sources;
  sources.file = file.path();
  sources.environment = {{"VIEWGATE_LISTEN", "8080"}, {"VIEWGATE_LISTENS", "x"}};
  sources.flags = {{"snapshot.queue", "-1"}};
  const auto problems = problems_of(sources);
  EXPECT_THAT(problems, SizeIs(7));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr(":1: threads is \"65\""), HasSubstr("0 to 64"))));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr(":2: there is no setting \"treads\""))));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("auth.algorithm"),
                                       HasSubstr("one of HS256, HS384, HS512, RS256, PS256, ES256, EdDSA"))));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("time.hello is \"5\""), HasSubstr("10ms to 1h"))));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("VIEWGATE_LISTEN"), HasSubstr("an address, not a name, and a port"))));
  EXPECT_THAT(problems, Contains(HasSubstr("\"VIEWGATE_LISTENS\"")));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("--snapshot-queue"), HasSubstr("\"-1\""))));
}

TEST(ConfigTable, a_file_that_is_not_there_or_not_toml_is_named) {
  ConfigSources sources;
  sources.file = "/no/such/file.toml";
  EXPECT_THAT(problems_of(sources), ElementsAre(HasSubstr("/no/such/file.toml")));
  const File file("threads = 1\nthreads =\n");
  sources.file = file.path();
  EXPECT_THAT(problems_of(sources), ElementsAre(HasSubstr(file.path() + ":2")));
}

TEST(ConfigTable, a_password_is_not_repeated_and_a_long_value_is_cut) {
  ConfigSources sources;
  sources.flags = {{"threads", std::string(5000, 'x')}};
  EXPECT_THAT(problems_of(sources).at(0).size(), ::testing::Lt(300U));
  sources.flags = {{"threads", std::string(79, 'x') + "ä"}};
  EXPECT_THAT(problems_of(sources).at(0), HasSubstr("\"" + std::string(79, 'x') + "…\"")) << "between characters";
}

TEST(ConfigTable, values_that_do_not_go_together_are_refused) {
  ConfigSources sources;
  sources.flags = {{"time.heartbeat", "30s"}, {"database", "host=x"}, {"embedded", "dir"}};
  EXPECT_THAT(
      problems_of(sources),
      ElementsAre(AllOf(HasSubstr("default: time.silence is \"50s\""), HasSubstr("--time-heartbeat: ")),
                  AllOf(HasSubstr("--embedded: embedded is \"dir\""), HasSubstr("--database: database is given"))));
}

TEST(ConfigTable, values_that_do_not_go_together_are_told_with_the_places_of_both) {
  const File file("[time]\nheartbeat = \"30s\"\nsilence = \"40s\"\n");
  ConfigSources sources;
  sources.file = file.path();
  EXPECT_THAT(problems_of(sources), ElementsAre(AllOf(HasSubstr(":3: time.silence is \"40s\", but must be more than"),
                                                      HasSubstr(":2: time.heartbeat is \"30s\""))));
}

TEST(ConfigTable, what_does_not_go_together_is_told_beside_what_is_wrong_elsewhere) {
  const File file("threads = 65\n[time]\nsilence = \"30s\"\nheartbeat = \"20s\"\n[ledger]\nlook_quiet = \"1\"\n");
  ConfigSources sources;
  sources.file = file.path();
  sources.flags = {{"ledger.look_busy", "1h"}};
  EXPECT_THAT(problems_of(sources),
              ElementsAre(HasSubstr(":6: ledger.look_quiet is \"1\""), HasSubstr(":1: threads is"),
                          HasSubstr(":3: time.silence is \"30s\", but must be more than twice")))
      << "of a value that was not taken nothing is compared";
}

TEST(ConfigTable, where_a_value_was_written_is_known) {
  const File file("threads = 3\n[tls]\ncertificate = \"a\"\nkey = \"b\"\n");
  ConfigSources sources;
  sources.file = file.path();
  sources.environment = {{"VIEWGATE_TLS_KEY", "c"}};
  sources.flags = {{"threads", "4"}};
  const Config config = config_of(sources);
  EXPECT_EQ(place_of(config, "tls.certificate"), file.path() + ":3: tls.certificate");
  EXPECT_EQ(place_of(config, "tls.key"), "environment VIEWGATE_TLS_KEY: tls.key");
  EXPECT_EQ(place_of(config, "threads"), "--threads: threads");
  EXPECT_EQ(place_of(config, "listen"), "listen");
  EXPECT_EQ(place_of(take_change(default_config(), config).config, "threads"), "threads") << "that waits for a restart";
}

TEST(ConfigTable, a_misspelt_setting_is_answered_by_the_nearest_one_or_by_none) {
  const auto answer = [](const std::string& key) {
    ConfigSources sources;
    sources.flags = {{key, "1"}};
    return problems_of(sources).at(0);
  };
  EXPECT_THAT(answer("limit.mesages"), HasSubstr("did you mean limit.messages?"));
  EXPECT_THAT(answer("limit.mesasges"), HasSubstr("did you mean limit.messages?"));
  EXPECT_THAT(answer("treads"), HasSubstr("did you mean threads?"));
  EXPECT_THAT(answer("issuers"), HasSubstr("did you mean auth.issuers?"));
  for (const char* far : {"nope.x", "x", "", "colour"}) EXPECT_THAT(answer(far), HasSubstr("--help` lists them"));
  EXPECT_THAT(answer(std::string(100'000, 'x')), HasSubstr("--help` lists them"));
  ConfigSources sources;
  sources.environment = {{"VIEWGATE_LIMIT_MESAGES", "1"}};
  EXPECT_THAT(problems_of(sources).at(0), HasSubstr("did you mean VIEWGATE_LIMIT_MESSAGES?"));
}

TEST(ConfigTable, a_connection_string_is_one_that_libpq_reads_and_is_never_repeated) {
  ConfigSources sources;
  for (const char* right : {"", "postgresql://u:p@[::1]:5432/x", "host=/tmp dbname=x", "dbname='a b'",
                            "postgresql://u:a%40b%2Fc@h1,h2/x?application_name=a@b/c", "password=a@b/c%d host=h",
                            "postgres:///x?host=/tmp&user=a@b"}) {
    sources.flags = {{"database", right}};
    EXPECT_EQ(config_of(sources).database, right);
  }
  for (const char* wrong : {"postgresql://u:s3cret@[::1/x", "x", "host=a s3cret", "hots=s3cret", "dbname='s3cret",
                            "postgresql://gw:a%s3cret@h/x", "postgresql://gw:a/s3cret@h/x",
                            "postgresql://gw:1/s3cret@h/x", "postgres://gw:a@s3cret@h/x", "password=a s3cret"}) {
    sources.flags = {{"database", wrong}};
    EXPECT_THAT(problems_of(sources),
                ElementsAre(AllOf(HasSubstr("--database: database is not valid, but must be a connection string"),
                                  HasSubstr("percent-encoded"), ::testing::Not(HasSubstr("s3cret")))));
  }
}

TEST(ConfigTable, units_are_read_and_overflow_is_refused) {
  ConfigSources sources;
  sources.flags = {{"ring.group_bytes", "2MiB"}, {"time.drain", "1m"}};
  const auto config = config_of(sources);
  EXPECT_EQ(config.ring_group_bytes, 2 * 1024 * 1024);
  EXPECT_EQ(config.drain_window, std::chrono::minutes(1));
  for (const char* wrong : {"", "1", "1x", "s", "-1s", "9223372036854775807h", "1.5s", "2h"}) {
    sources.flags = {{"time.drain", wrong}};
    EXPECT_THAT(problems_of(sources), SizeIs(1)) << wrong;
  }
}

TEST(ConfigTable, row_17_an_origin_that_no_browser_sends_is_refused_with_what_is_right) {
  const File file("threads = 1\norigins = [\"https://app.example\", \"http://localhost:3000\"]\n");
  ConfigSources sources;
  sources.file = file.path();
  EXPECT_THAT(config_of(sources).origins, ElementsAre("https://app.example", "http://localhost:3000"));
  for (const std::string wrong : {"https://app.example/", "app.example", "*", "null", "https://app.example:443"}) {
    const File other("threads = 1\norigins = [\"http://a.example\", \"" + wrong + "\"]\n");
    sources.file = other.path();
    EXPECT_THAT(problems_of(sources),
                ElementsAre(AllOf(HasSubstr(":2: origins is \"http://a.example," + wrong + "\", but must be a list"),
                                  HasSubstr("https://app.example or http://localhost:3000"))));
  }
}

TEST(ConfigTable, endpoints) {
  EXPECT_EQ(parse_endpoint("[::1]:0")->address, "::1");
  EXPECT_EQ(parse_endpoint("127.0.0.1:65535")->port, 65535);
  EXPECT_EQ(parse_endpoint("[fe80::1%eth0]:80")->address, "fe80::1%eth0");
  for (const char* wrong :
       {"", ":1", "1.2.3.4", "1.2.3.4:", "::1:80", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:1x", "localhost:8080",
        "a.example:80", "*:80", "1.2.3:80", "[1.2.3.4]:80", "[::g]:80", "[]:80"}) {
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
  }
}

/// In this process for as long as the test needs it.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const std::string name_;
};

TEST(ConfigTable, what_kubernetes_says_of_services_whose_names_begin_like_ours_is_no_setting) {
  const auto before = process_environment();
  std::deque<Variable> there;
  for (const std::string service : {"VIEWGATE", "VIEWGATE_ADMIN", "VIEWGATE_2"}) {
    there.emplace_back(service + "_SERVICE_HOST", "10.0.0.7");
    there.emplace_back(service + "_SERVICE_PORT", "8081");
    there.emplace_back(service + "_SERVICE_PORT_METRICS", "8081");
    there.emplace_back(service + "_PORT", "tcp://10.0.0.7:8081");
    there.emplace_back(service + "_PORT_8081_TCP", "tcp://10.0.0.7:8081");
    for (const std::string part : {"PROTO", "PORT", "ADDR"}) {
      there.emplace_back(service + "_PORT_8081_TCP_" + part, "x");
    }
  }
  EXPECT_EQ(process_environment(), before);
  // What somebody has written by hand is told to be none.
  there.emplace_back("VIEWGATE_PORT", "8080");
  there.emplace_back("VIEWGATE_LISTEN_PORT", "8080");
  EXPECT_THAT(process_environment(), SizeIs(before.size() + 2));
}

TEST(ConfigTable, no_setting_is_passed_over_as_somebody_elses_variable) {
  std::deque<Variable> there;
  for (const auto& setting : settings()) there.emplace_back(environment_of(setting), "x");
  const auto found = process_environment();
  for (const auto& setting : settings()) EXPECT_TRUE(found.contains(environment_of(setting))) << setting.key;
}

TEST(ConfigTable, every_key_has_its_own_flag_and_environment_name) {
  std::map<std::string, int> names;
  for (const auto& setting : settings()) {
    EXPECT_EQ(++names[flag_of(setting)], 1) << setting.key;
    EXPECT_EQ(++names[environment_of(setting)], 1) << setting.key;
    EXPECT_FALSE(setting.text.empty()) << setting.key;
  }
}

TEST(ConfigTable, what_may_be_taken_is_taken_and_the_rest_is_named) {
  const Config now = config_of({});
  ConfigSources sources;
  sources.flags = {{"threads", "3"}, {"limit.messages", "7"}, {"origins", "https://a.example"}, {"listen", "[::1]:1"}};
  const auto change = take_change(now, config_of(sources));
  EXPECT_THAT(change.taken, ElementsAre("origins", "limit.messages"));
  EXPECT_THAT(change.waiting, ElementsAre("listen", "threads"));
  EXPECT_EQ(change.config.limit_messages, 7);
  EXPECT_EQ(change.config.threads, now.threads);
  EXPECT_EQ(change.config.listen, now.listen);
}

TEST(ConfigTable, a_certificate_may_be_another_file_but_tls_is_turned_on_by_a_restart_alone) {
  ConfigSources sources;
  sources.flags = {{"tls.certificate", "a"}, {"tls.key", "b"}};
  const Config with = config_of(sources);
  EXPECT_THAT(take_change(default_config(), with).waiting, ElementsAre("tls.certificate", "tls.key"));
  EXPECT_EQ(take_change(default_config(), with).config.tls_certificate, "");
  EXPECT_THAT(take_change(with, default_config()).taken, ElementsAre());
  sources.flags = {{"tls.certificate", "c"}, {"tls.key", "b"}};
  EXPECT_THAT(take_change(with, config_of(sources)).taken, ElementsAre("tls.certificate"));
}

TEST(Reference, the_documented_tables_are_those_of_the_program) {
  const std::string text = test::file_text(VIEWGATE_SOURCE_DIR "/docs/operating.md");
  for (const char* name : {"configuration", "exit statuses", "close codes", "errors", "reset reasons", "metrics"}) {
    EXPECT_THAT(text, HasSubstr("<!-- table: " + std::string(name) + " -->"));
  }
  EXPECT_EQ(text, with_tables(text)) << "`./dev docs` makes them anew";
}

TEST(Reference, a_mark_that_is_wrong_is_refused) {
  EXPECT_THROW(static_cast<void>(with_tables("<!-- table: none -->\n<!-- end -->")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(with_tables("<!-- table: errors -->\n")), std::invalid_argument);
  EXPECT_EQ(with_tables("no table"), "no table");
}

TEST(Reference, everything_that_may_be_met_says_what_to_do) {
  for (const auto& each : close_codes) EXPECT_NE(advice_for_close(each.code), "") << each.name;
  for (const auto& each : exit_meanings) EXPECT_NE(advice_for(each.status), "") << each.meaning;
  EXPECT_THAT(reference_text(), ::testing::Not(HasSubstr("| |\n")));
}

}  // namespace
}  // namespace viewgate::gateway::testing
