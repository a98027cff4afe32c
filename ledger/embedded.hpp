// A private PostgreSQL cluster in one directory: made on first use, started, stopped, and never outliving this process.
//
//   DIR/lock      held (flock) by the process that runs the cluster: two processes never share one
//   DIR/data      the cluster; made as DIR/data.new and renamed when complete
//   DIR/socket    its only door, mode 0700: no TCP, so whoever may enter the directory may enter the database
//   DIR/log       what PostgreSQL says
//
// Started by root, PostgreSQL runs as `postgres` (or `nobody`), because it refuses root; then that user must be able to
// reach DIR. A socket's name is limited to 107 bytes: for a longer DIR the socket lives in /tmp/viewgate-<hash of DIR>,
// with the same owner and mode.
//
// A server that ends by itself (killed, or without room for its log) is started again, every second until it runs.
//
// Blocking; one owner thread calls it. The server is the child of a thread of its own, so that the kernel stops it
// (fast shutdown) when this process is killed, whichever thread called start().
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/error.hpp"

namespace viewgate::ledger {

/// How the server goes: `fast` ends sessions and writes a checkpoint, `immediate` leaves recovery to the next start,
/// `kill` is SIGKILL, as a crash is.
enum class Shutdown { fast, immediate, kill };

/// Whether commits survive a crash of the machine. `volatile_` (fsync off) is for tests that do not test that.
enum class Durability { durable, volatile_ };

struct EmbeddedOptions {
  std::filesystem::path directory;
  Durability durability = Durability::durable;
  std::vector<std::string> settings;  ///< "name=value", for postgres -c; after and so over our own
  std::string programs;               ///< folder of PostgreSQL's programs; empty = $VIEWGATE_POSTGRES_BIN, else found
  std::function<void(std::string_view)> on_progress;  ///< one short line before each step that takes time;
                                                      ///< of a server that is started again from another thread
};

/// Errors: programs_missing (with the places looked at), unsuitable_database (directory in use or not reachable, or
/// made by another PostgreSQL), unavailable (the server did not come up; the last line of its log), timeout.
class Embedded {
 public:
  /// Makes the cluster where there is none, and starts it. An existing one takes a second or two.
  [[nodiscard]] static Result<std::unique_ptr<Embedded>> start(EmbeddedOptions options);

  /// Stops fast where it still runs.
  ~Embedded();
  Embedded(const Embedded&) = delete;
  Embedded& operator=(const Embedded&) = delete;

  /// For libpq: superuser `postgres`, through the socket (a role named like our schema would make its tables in it).
  /// The database `viewgate` always exists.
  [[nodiscard]] std::string conninfo(std::string_view database = "viewgate") const;

  [[nodiscard]] Result<void> stop(Shutdown how);
  [[nodiscard]] Result<void> restart(Shutdown how);

  [[nodiscard]] bool running() const;
  [[nodiscard]] const std::filesystem::path& socket_directory() const;
  [[nodiscard]] const std::filesystem::path& programs() const;

 private:
  class Server;
  explicit Embedded(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace viewgate::ledger
