// The running program: an engine thread (this one: the log's tail, the groups, the model) and reactor threads with the sockets,
// wired in one column in server.cpp. Between threads only posts travel.
//
// SIGTERM and SIGINT drain: clients are told when to come back, over the configured window, then everything stops. A second
// signal stops at once. SIGHUP reads the configuration again: what may change while the program runs is taken, what may not is named
// in the log, and a configuration that is wrong changes nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/config.hpp"
#include "gateway/identity.hpp"
#include "gateway/service_manager.hpp"

namespace viewgate::gateway {

struct ServerSurroundings {
  const ServiceManager& manager;        ///< outlives the server
  std::function<Config()> read_config;  ///< again, from the same places; throws Stop with what is wrong
};

class Server {
 public:
  /// `endpoint`: the port is not 0. `conninfo`: a database that was found suitable, with the schema of this program.
  /// Throws Stop: the issuer table is none.
  Server(const Config& config, const std::string& conninfo, Identity identity, const Endpoint& endpoint,
         ServerSurroundings surroundings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Until a signal; `listening` is called once clients are welcome. Throws Stop: the model cannot be read, the address is taken, a file cannot be written.
  void run(const std::function<void()>& listening);

 private:
  class Column;
  std::unique_ptr<Column> column_;
};

}  // namespace viewgate::gateway
