// The running program: an engine thread (this one: the log's tail, the groups, the model) and reactor threads with the sockets,
// wired in one column in server.cpp. Between threads only posts travel.
//
// SIGTERM and SIGINT drain: clients are told when to come back, over the configured window, then everything stops. A second
// signal stops at once.
#pragma once

#include <memory>
#include <string>

#include "gateway/config.hpp"
#include "gateway/identity.hpp"

namespace viewgate::gateway {

class Server {
 public:
  /// `endpoint`: the port is not 0. `conninfo`: a database that was found suitable, with the schema of this program.
  /// Throws Stop: the issuer table is none.
  Server(const Config& config, const std::string& conninfo, Identity identity, const Endpoint& endpoint);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Until a signal. Throws Stop: the model cannot be read, the address is taken, a file cannot be written.
  void run();

 private:
  class Column;
  std::unique_ptr<Column> column_;
};

}  // namespace viewgate::gateway
