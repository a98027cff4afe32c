// The database for a subcommand or a start: one question after the other, each waited for. What fails throws Stop with
// the exit status that goes with it. Not for a thread that serves anybody.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "gateway/errors.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/registry.hpp"

namespace viewgate::gateway {

/// Throws what a failed step of a command ends with.
[[noreturn]] void stop_for(const ledger::Error& error);
/// The same of a node that starts: a role without rights is a matter of configuration, and its line says who grants them.
[[noreturn]] void stop_start_for(const ledger::Error& error);

class CommandDatabase {
 public:
  static constexpr std::chrono::milliseconds time_max{30'000};

  /// Checks the database and brings its schema to this program's version. Whether commits survive a crash (fsync) is asked when
  /// they are served, not here. Throws Stop.
  explicit CommandDatabase(const std::string& conninfo);

  ledger::pg::Rows exec(std::string sql, ledger::pg::Params params);

  /// Throws Stop where nothing was ever committed in the space: nothing of it can be pruned or erased, and to lock it would
  /// make it.
  void need_commits(const std::string& space);

  /// Throws Stop where a captured table has no row of the space either: its name is then a slip. Rows from before the capture
  /// are in no commit, so that the log of a space may be empty.
  void need_space(const std::string& space);

  [[nodiscard]] ledger::Registry& registry() { return registry_; }

  /// `start` asks something of the registry with the callback that it is given.
  template <class T>
  T wait(const std::function<void(std::function<void(ledger::Result<T>)>)>& start) {
    std::optional<ledger::Result<T>> out;
    start([&](ledger::Result<T> result) { out.emplace(std::move(result)); });
    run_until([&] { return out.has_value(); });
    if (!*out) stop_for(out->error());
    if constexpr (!std::is_void_v<T>) return std::move(**out);
  }

 private:
  bool has_commits(const std::string& space);
  bool has_rows(const std::string& space);
  void run_until(const std::function<bool()>& done);

  boost::asio::io_context io_{1};
  ledger::Registry registry_;
  ledger::pg::ConnectOptions options_;
  std::optional<ledger::pg::Connection> connection_;
};

}  // namespace viewgate::gateway
