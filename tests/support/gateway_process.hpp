// The built program under test: `viewgate serve` as a process of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loadtest/process_use.hpp"
#include "support/child_process.hpp"

namespace viewgate::testing {

/// Where the build puts the programs.
std::string program(const std::string& name);

/// A file with a secret for HS256 tokens, made once per test program.
const std::string& key_file();

/// A token of `viewgate token`: `claims` as name=value.
std::string token(const std::string& subject, const std::vector<std::string>& claims = {});

/// A token made here, byte by byte: what `viewgate token` would not make. `claims`: the whole JSON text.
std::string token_of_claims(std::string_view claims, std::string_view header = R"({"alg":"HS256","typ":"JWT"})");

struct GatewayOptions {
  std::string database;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> flags;  ///< further ones, name and value
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<std::uint64_t> descriptors = {};  ///< how many the program may have
  std::string log_file = {};                      ///< empty: one of its own, gone with it
  std::string program = {};                       ///< empty: the built one
  /// An honest client of this gateway, at the port: what it does, expected to succeed, and how long its commit took to come.
  std::function<std::chrono::milliseconds(std::uint16_t port)> good_client = {};

  /// A flag may be given once: replaces the one of this name, or adds it.
  void set(const std::string& flag, const std::string& value);

  /// For AddressSanitizer, if the gateway has it: beside what is set already.
  void tell_sanitizer(const std::string& options);
  /// For every test that allows the gateway less than what a sanitizer keeps of the freed, 256 MB: it then gives that back soon.
  /// Not for the others, since what it keeps is where it finds uses after the end.
  void measure_memory();
};

class GatewayProcess {
 public:
  /// What looks at each gateway that still runs when its test lets go of it, before it is ended; null: nothing. What it throws is
  /// the test's failure.
  static inline std::function<void(GatewayProcess&)> before_end = {};

  /// Returns when it listens; throws std::runtime_error with its log when it does not within its time.
  explicit GatewayProcess(GatewayOptions options);
  ~GatewayProcess();

  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  ChildProcess& process() { return *process_; }
  const GatewayOptions& options() const { return options_; }
  /// What it used when clients were welcome first.
  const loadtest::ProcessUse& use_at_start() const { return use_at_start_; }
  loadtest::ProcessUse use() const { return loadtest::process_use(process_->pid()); }
  /// Starts anew on the same port after it has ended.
  void start_again();
  std::string log() const { return file_text(log_file_); }
  /// Sockets of clients that the process still holds, whatever their state.
  std::size_t client_sockets() const;
  std::uint64_t rss_bytes() const { return use().rss_bytes; }

 private:
  void start();

  GatewayOptions options_;
  std::string log_file_;
  std::string ready_file_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> process_;
  loadtest::ProcessUse use_at_start_;
};

/// A port that was free a moment ago.
std::uint16_t free_port();

}  // namespace viewgate::testing
