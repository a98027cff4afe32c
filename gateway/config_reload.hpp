// What SIGHUP does: the configuration is read again, and what may change while the program runs goes to every part that has it.
// A part that keeps a copy of a setting which SIGHUP changes is named in `take_over`. On the engine's thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gateway/config.hpp"

namespace viewgate::gateway {

class AdminDoor;
class Admission;
class Engine;
class KeyFollower;
class Reactor;
class TlsFiles;
class ViewDesk;

class ConfigReload {
 public:
  /// All of it outlives the reload.
  struct Parts {
    Config& config;  ///< in force; replaced as a whole
    const Endpoint& endpoint;
    const std::function<Config()>& read;  ///< throws Stop
    KeyFollower& keys;
    TlsFiles* tls;  ///< null: sockets speak no TLS
    const std::shared_ptr<Admission>& admission;
    Engine& engine;
    ViewDesk& views;
    AdminDoor* admin;  ///< null: there is none
    const std::vector<std::unique_ptr<Reactor>>& reactors;
  };

  explicit ConfigReload(Parts parts) : parts_(parts) {}

  /// All that the new configuration names is read and found good before any of it is taken. The log says what was taken and what needs a
  /// restart, or in one line what is wrong.
  void read_again();

 private:
  void take_over(const ConfigChange& change);

  const Parts parts_;
};

}  // namespace viewgate::gateway
