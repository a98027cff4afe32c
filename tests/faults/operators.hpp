// A gateway with an operators' port, and who asks there.
#pragma once

#include <filesystem>
#include <fstream>

#include "row_test.hpp"

namespace viewgate::testing {

inline constexpr const char* credential = "an-operators-credential-of-the-tests";

class Operators : public Row {
 protected:
  Operators() { std::ofstream(credential_file) << credential << "\n"; }
  ~Operators() override { std::filesystem::remove(credential_file); }

  GatewayOptions options() {
    GatewayOptions out = line.gateway_options();
    out.set("--admin-listen", "127.0.0.1:0");
    out.set("--admin-key-file", credential_file);
    return out;
  }
  static std::uint16_t admin_port(const GatewayProcess& gateway) {
    const std::string log = gateway.log();
    const std::size_t line_at = log.find("admin_listening");
    const std::size_t at = log.find("port=", line_at);
    if (line_at == std::string::npos || at == std::string::npos) throw std::runtime_error("no operators' port: " + log);
    return static_cast<std::uint16_t>(std::stoi(log.substr(at + 5)));
  }
  struct Answer {
    std::string head;
    std::string body;
  };
  static Answer ask(std::uint16_t port, const std::string& method, const std::string& target,
                    const std::string& body = "",
                    const std::string& authorization = std::string("Bearer ") + credential) {
    RawSocket socket(port);
    socket.send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" +
                (authorization.empty() ? "" : "Authorization: " + authorization + "\r\n") +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    Answer out;
    out.head = socket.read_until("\r\n\r\n");
    out.body = socket.read_until("\n");
    EXPECT_TRUE(socket.wait_closed());
    return out;
  }
  static Answer metrics(std::uint16_t port) {
    RawSocket socket(port);
    socket.send(std::string("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ") + credential +
                "\r\n\r\n");
    Answer out;
    out.head = socket.read_until("\r\n\r\n");
    out.body = socket.read_until("process_max_fds ");
    return out;
  }
  static std::uint16_t hello_code(std::uint16_t port, const std::string& token) {
    WsClient client(port);
    client.send(R"({"type":"hello","protocol":1,"token":")" + token + "\"}");
    if (client.next().type() == "welcome") return 0;
    return client.closed_with();
  }

  const std::string credential_file = temporary_path("operators");
};

}  // namespace viewgate::testing
