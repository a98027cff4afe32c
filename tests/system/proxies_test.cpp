// Goal: the sample configurations of docs/proxies do what they say. Method: Debian's nginx and HAProxy run with exactly these files but
// for ports, certificate and size, in front of the built gateway, and clients come through them over TLS from two addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "support/line.hpp"
#include "support/tls_client.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

using Replacements = std::map<std::string, std::string>;

/// The sample with what differs on this machine; each must be there once, so that the rest is what was tested.
std::string sample(const std::string& name, const Replacements& replacements) {
  std::string text = file_text(std::string(VIEWGATE_SOURCE_DIR) + "/docs/proxies/" + name);
  for (const auto& [from, to] : replacements) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << name << " has no " << from;
    if (at == std::string::npos) continue;
    EXPECT_EQ(text.find(from, at + from.size()), std::string::npos) << name << " has it twice: " << from;
    text.replace(at, from.size(), to);
  }
  return text;
}

/// A folder for a proxy's files, gone with it.
class Folder {
 public:
  Folder() : path_(temporary_path("proxy")) { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

struct Backend {
  std::uint16_t port = 0;
  std::string gateway;  ///< address:port
};

/// The command line of the proxy, whose files are written.
using Prepare = std::vector<std::string> (*)(const Folder& folder, const Backend& backend);

std::unique_ptr<ChildProcess> started(const std::vector<std::string>& arguments, const Folder& folder) {
  ChildOptions child;
  child.arguments = arguments;
  child.output_file = folder.file("log");
  return std::make_unique<ChildProcess>(child);
}

std::vector<std::string> prepare_nginx(const Folder& folder, const Backend& backend) {
  write_certificate(folder.file("certificate.pem"), folder.file("key.pem"), "live.example");
  const auto site = folder.write(
      "viewgate.conf",
      sample("nginx.conf", {{"listen 443 ssl;", "listen 127.0.0.1:" + std::to_string(backend.port) + " ssl;"},
                            {"server 127.0.0.1:8080;", "server " + backend.gateway + ";"},
                            {"/etc/ssl/live.example.pem", folder.file("certificate.pem")},
                            {"/etc/ssl/private/live.example.key", folder.file("key.pem")}}));
  std::string main = "daemon off;\nmaster_process off;\npid " + folder.file("pid") +
                     ";\nerror_log stderr;\nevents {}\nhttp {\n  access_log off;\n";
  for (const char* each : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    main += "  " + std::string(each) + "_temp_path " + folder.file(each) + ";\n";
  }
  return {"/usr/sbin/nginx", "-c", folder.write("nginx.conf", main + "  include " + site + ";\n}\n"), "-p",
          folder.path()};
}

std::vector<std::string> prepare_haproxy(const Folder& folder, const Backend& backend, Replacements more = {}) {
  write_certificate(folder.file("certificate.pem"), folder.file("key.pem"), "live.example");
  const auto both =
      folder.write("both.pem", file_text(folder.file("certificate.pem")) + file_text(folder.file("key.pem")));
  // Descriptors for a hundred thousand clients are more than a test may have.
  more.merge(Replacements{{"bind :443 ", "bind 127.0.0.1:" + std::to_string(backend.port) + " "},
                          {"node1 127.0.0.1:8080 ", "node1 " + backend.gateway + " "},
                          {"/etc/haproxy/live.example.pem", both},
                          {"maxconn 100000", "maxconn 100"}});
  return {"/usr/sbin/haproxy", "-db", "-f", folder.write("haproxy.cfg", sample("haproxy.cfg", more))};
}

class BehindProxy : public ::testing::TestWithParam<Prepare> {
 protected:
  BehindProxy() {
    GatewayOptions options = line.gateway_options();
    options.set("--proxy-trusted", "127.0.0.1");
    options.set("--limit-address-connections", "1");
    options.set("--time-handshake", patient_flag(std::chrono::seconds(10)));
    options.set("--time-hello", patient_flag(std::chrono::seconds(10)));
    gateway = std::make_unique<GatewayProcess>(options);
    proxy = started(GetParam()(folder, {port, gateway->address()}), folder);
  }
  std::string head_of(const std::string& request, const std::string& source) {
    const TlsGate gate(port, source);
    RawSocket socket(gate.port());
    socket.send(request);
    return socket.read_until("\r\n\r\n");
  }
  /// The status line of a request that comes from this address.
  std::string status_of(const std::string& request, const std::string& source) {
    const std::string head = head_of(request, source);
    return head.substr(0, head.find("\r\n"));
  }
  std::string upgrade_status(const std::string& source, const std::string& headers = "") {
    return status_of(upgrade_bytes({.extra_headers = headers}), source);
  }

  Line& line = Line::shared();
  const Folder folder;
  const std::uint16_t port = free_port();
  std::unique_ptr<GatewayProcess> gateway;
  std::unique_ptr<ChildProcess> proxy;
};

TEST_P(BehindProxy, clients_follow_their_views_are_told_apart_and_leave_when_told) {
  const std::string ready = "GET /v1/nothing HTTP/1.1\r\nHost: live.example\r\n\r\n";
  // The proxy listens, and has found the node: 404 is the node's own answer.
  ASSERT_TRUE(eventually([&] { return status_of(ready, "127.0.0.9").find(" 404 ") != std::string::npos; },
                         patient(std::chrono::seconds(30))))
      << file_text(folder.file("log"));
  const TlsGate first_gate(port, "127.0.0.2"), second_gate(port, "127.0.0.3");
  WsClient first(first_gate.port(), line.reader()), second(second_gate.port(), line.reader("bob"));
  const std::string space = line.new_space();
  first.open({.space = space});
  second.open({.space = space});
  static int records = 0;
  const std::string id = std::to_string(++records);
  line.session().query("insert into items (space, id, owner, status) values ($1, $2, 'alice', 'open')", {space, id});
  EXPECT_THAT(first.next_of("commit").text, HasSubstr("\"key\":[" + id + "]"));
  EXPECT_THAT(second.next_of("commit").text, HasSubstr("\"key\":[" + id + "]"));

  // Each address has one connection and may have no other, whoever it says it is.
  const auto is_refused = ::testing::Not(HasSubstr(" 101 "));
  EXPECT_THAT(upgrade_status("127.0.0.2"), is_refused);
  EXPECT_THAT(upgrade_status("127.0.0.2", "X-Forwarded-For: 192.0.2.9\r\n"), is_refused);
  EXPECT_THAT(upgrade_status("127.0.0.4"), HasSubstr(" 101 "));

  EXPECT_THAT(status_of("GET /metrics HTTP/1.1\r\nHost: live.example\r\n\r\n", "127.0.0.5"), HasSubstr(" 404 "));
  EXPECT_THAT(status_of("GET /readyz HTTP/1.1\r\nHost: live.example\r\n\r\n", "127.0.0.5"), HasSubstr(" 404 "));

  // The proxy's own id is the node's, too, whatever the client calls itself; the node's would have 16 digits.
  const std::string head =
      head_of("GET /v1/nothing HTTP/1.1\r\nHost: live.example\r\nX-Request-Id: mine\r\n\r\n", "127.0.0.5");
  EXPECT_THAT(head, ::testing::ContainsRegex("[Xx]-[Rr]equest-[Ii]d: [0-9a-f-]{32,36}\r\n"));

  gateway->process().signal(SIGTERM);
  EXPECT_EQ(first.next_of("drain").type(), "drain");
  EXPECT_EQ(first.closed_with(), 1012);
}

INSTANTIATE_TEST_SUITE_P(Nginx, BehindProxy, ::testing::Values(&prepare_nginx));
INSTANTIATE_TEST_SUITE_P(Haproxy, BehindProxy, ::testing::Values([](const Folder& folder, const Backend& backend) {
                           return prepare_haproxy(folder, backend);
                         }));

// It asks by HTTP/1.0 and without Host, and says itself what it was answered. Before the first answer it takes each node for one that is
// there, so there is none at first.
TEST(Haproxy, sends_clients_to_a_node_once_that_says_it_takes_them_and_nobody_once_it_stops) {
  Line& line = Line::shared();
  GatewayOptions options = line.gateway_options();
  options.listen = "127.0.0.1:" + std::to_string(free_port());
  options.set("--proxy-trusted", "127.0.0.1");
  const Folder folder;
  const std::uint16_t port = free_port();
  // Where it sees something change, or nobody there, it looks again sooner.
  const Replacements sooner{{"inter 2s", "inter 2s fastinter 100ms downinter 100ms"}};
  const auto proxy = started(prepare_haproxy(folder, {port, options.listen}, sooner), folder);
  const auto log = [&] { return file_text(folder.file("log")); };
  const auto says = [&](const std::string& what, std::size_t times = 1) {
    const auto count = [&] {
      std::size_t out = 0;
      const std::string text = log();
      for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
      return out;
    };
    return eventually([&] { return count() == times; }, patient(std::chrono::seconds(60)));
  };
  const auto upgrade = [&] {
    const TlsGate gate(port);
    RawSocket socket(gate.port());
    socket.send(upgrade_bytes());
    return socket.read_until("\r\n");
  };
  ASSERT_TRUE(says("nodes/node1 is DOWN")) << log();
  EXPECT_THAT(upgrade(), HasSubstr(" 503 "));
  GatewayProcess gateway(options);
  ASSERT_TRUE(says("nodes/node1 is UP, reason: Layer7 check passed, code: 200")) << log();
  EXPECT_THAT(upgrade(), HasSubstr(" 101 "));

  gateway.process().signal(SIGTERM);
  ASSERT_TRUE(says("nodes/node1 is DOWN", 2)) << log();
  EXPECT_THAT(upgrade(), HasSubstr(" 503 "));
}

}  // namespace
}  // namespace viewgate::testing
