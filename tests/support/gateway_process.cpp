#include "support/gateway_process.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "loadtest/token.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {

namespace {

constexpr std::string_view secret = "a secret of the tests, longer than thirty-two bytes";

}  // namespace

std::string program(const std::string& name) { return std::string(VIEWGATE_BINARY_DIR) + "/bin/" + name; }

const std::string& key_file() {
  static const struct File {
    std::string path = temporary_path("key");
    File() { std::ofstream(path) << secret; }
    ~File() { std::filesystem::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
  } file;
  return file.path;
}

std::string token(const std::string& subject, const std::vector<std::string>& claims) {
  std::vector<std::string> arguments{program("viewgate"), "token", "--auth-key-file", key_file(), "--sub", subject};
  for (const std::string& claim : claims) {
    arguments.emplace_back("--claim");
    arguments.push_back(claim);
  }
  Finished made = run(arguments);
  if (made.status != 0) throw std::runtime_error("viewgate token: " + made.output);
  while (!made.output.empty() && made.output.back() == '\n') made.output.pop_back();
  return made.output;
}

std::string token_of_claims(std::string_view claims, std::string_view header) {
  return loadtest::sign_hs256(header, claims, secret);
}

void GatewayOptions::set(const std::string& flag, const std::string& value) {
  const auto found = std::find(flags.begin(), flags.end(), flag);
  if (found == flags.end()) {
    flags.insert(flags.end(), {flag, value});
  } else {
    *std::next(found) = value;
  }
}

void GatewayOptions::tell_sanitizer(const std::string& told) {
  const std::string name = "ASAN_OPTIONS";
  const auto is_it = [&](const auto& variable) { return variable.first == name; };
  const auto found = std::find_if(environment.begin(), environment.end(), is_it);
  if (found != environment.end()) {
    found->second += ":" + told;
    return;
  }
  const char* const ours = std::getenv(name.c_str());
  environment.emplace_back(name, (ours == nullptr ? std::string() : ours + std::string(":")) + told);
}

void GatewayOptions::measure_memory() {
  tell_sanitizer("quarantine_size_mb=1:thread_local_quarantine_size_kb=64:allocator_release_to_os_interval_ms=100");
}

GatewayProcess::GatewayProcess(GatewayOptions options) : options_(std::move(options)) {
  log_file_ = options_.log_file.empty() ? temporary_path("gateway.log") : options_.log_file;
  ready_file_ = temporary_path("ready");
  start();
}

GatewayProcess::~GatewayProcess() {
  // Whoever waits for a client sees only that nobody answers any more.
  if (process_->has_crashed() || (::testing::Test::HasFailure() && !process_->running())) {
    std::cerr << "the gateway has ended with " << process_->wait(std::chrono::milliseconds(0)).value_or(-1) << '\n';
  }
  EXPECT_FALSE(process_->has_crashed()) << log();
  try {
    if (before_end && process_->running()) before_end(*this);
  } catch (const std::exception& problem) {
    ADD_FAILURE() << "the gateway that a test has done with: " << problem.what();
  }
  process_.reset();
  if (options_.log_file.empty()) std::filesystem::remove(log_file_);
  std::filesystem::remove(ready_file_);
}

void GatewayProcess::start() {
  std::filesystem::remove(ready_file_);
  ChildOptions child;
  GatewayOptions all = options_;
  all.set("--database", options_.database);
  all.set("--listen", options_.listen);
  all.set("--ready-file", ready_file_);
  if (std::find(all.flags.begin(), all.flags.end(), "--auth-key-file") == all.flags.end())
    all.set("--auth-key-file", key_file());
  child.arguments = {options_.program.empty() ? program("viewgate") : options_.program, "serve"};
  child.arguments.insert(child.arguments.end(), all.flags.begin(), all.flags.end());
  child.environment = options_.environment;
  child.descriptors = options_.descriptors;
  child.output_file = log_file_;
  process_ = std::make_unique<ChildProcess>(child);
  std::string address;
  const bool listens = eventually(
      [&] {
        address = file_text(ready_file_);
        return address.find(':') != std::string::npos || !process_->running();
      },
      patient(std::chrono::seconds(30)));
  if (!listens || !process_->running()) throw std::runtime_error("viewgate serve did not come up:\n" + log());
  port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  use_at_start_ = use();
}

void GatewayProcess::start_again() {
  options_.listen = address();
  start();
}

std::size_t GatewayProcess::client_sockets() const {
  // proc(5): local address as hexadecimal address:port is the second field, the state the fourth (0A = listening), the inode
  // the tenth (0 = no process holds it any more).
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::size_t out = 0;
  while (std::getline(table, line)) {
    std::istringstream text(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(text), {}};
    if (fields.size() < 10 || fields[1].find(':') == std::string::npos) continue;
    const bool ours = std::stoul(fields[1].substr(fields[1].find(':') + 1), nullptr, 16) == port_;
    if (ours && fields[3] != "0A" && fields[9] != "0") ++out;
  }
  return out;
}

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(any);
  ::bind(fd, reinterpret_cast<sockaddr*>(&any), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&any), &size);
  ::close(fd);
  return ntohs(any.sin_port);
}

}  // namespace viewgate::testing
