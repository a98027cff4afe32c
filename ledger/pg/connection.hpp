// One connection to PostgreSQL as coroutines: libpq in non-blocking mode on the Asio loop, so no thread ever waits.
//
// One coroutine uses it at a time, all on one thread; it must outlive every await on it. There is no cancelling of a
// statement: a statement that is given up (deadline, close(), a callback that says stop) closes the connection, since
// an unread result may never be mistaken for the next one's.
//
// Every call returns only after ReadyForQuery. In the extended protocol the result of a statement arrives before its
// transaction is committed; acting on it then would act on something that no other connection can see yet.
//
// Session settings that change text, names or durability are pinned right after connecting, so that a role's or
// database's own settings cannot change what we read.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/error.hpp"
#include "ledger/pg/result.hpp"
#include "ledger/pg/session_settings.hpp"

namespace viewgate::ledger::pg {

template <class T>
using Task = boost::asio::awaitable<Result<T>>;

/// Who takes rows may be slower than the server. Asked after every row; outlives the call, whose time limit does not count
/// while it waits: whoever paces ends its waits.
class Pace {
 public:
  virtual ~Pace() = default;
  [[nodiscard]] virtual bool is_full() const = 0;
  /// Returns when there is room again, or nobody takes rows any more.
  virtual boost::asio::awaitable<void> wait_for_room() = 0;
};

struct Statement {
  std::string sql;
  Params params;
};

class Deadline;
class Socket;

class Connection {
 public:
  explicit Connection(const boost::asio::any_io_executor& executor);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Errors: unavailable, timeout, unsuitable_database (a server that does not know a setting we pin). Looking up a
  /// host name blocks, as libpq does it inside PQconnectStart; addresses and sockets do not.
  Task<void> connect(ConnectOptions options);

  /// One statement with parameters; all its rows. A server error leaves the connection usable.
  Task<Rows> exec(std::string sql, Params params, std::chrono::milliseconds time_max);

  /// The same for a statement that is run again and again: prepared on this connection at its first use.
  Task<Rows> exec_prepared(std::string sql, Params params, std::chrono::milliseconds time_max);

  /// Several statements in one round trip (pipeline mode). The first error is returned, the rest is then skipped by the
  /// server; an explicit transaction among them stays open and failed.
  Task<std::vector<Rows>> exec_all(std::vector<Statement> statements, std::chrono::milliseconds time_max);

  /// The same for statements that are run again and again: each is prepared on this connection at its first use.
  Task<std::vector<Rows>> exec_all_prepared(std::vector<Statement> statements, std::chrono::milliseconds time_max);

  /// Several commands without parameters or results, separated by semicolons, in one implicit transaction.
  Task<void> exec_script(std::string sql, std::chrono::milliseconds time_max);

  /// Hands on row after row in bounded memory. `silence_max`: the longest time without any progress. on_row returns false to give up: the connection is closed and the error is `rejected`.
  Task<void> stream(std::string sql, Params params, std::function<bool(const Row&)> on_row,
                    std::chrono::milliseconds silence_max, Pace* pace = nullptr);

  /// The same for a statement that is run again and again: prepared on this connection at its first use.
  Task<void> stream_prepared(std::string sql, Params params, std::function<bool(const Row&)> on_row,
                             std::chrono::milliseconds silence_max);

  /// The payload of the next notification, or nullopt when none came in time; the connection stays usable either way.
  Task<std::optional<std::string>> wait_notification(std::chrono::milliseconds time_max);

  /// Ends a pending call with `unavailable`. Callable at any time on the connection's thread.
  void close();

  [[nodiscard]] bool is_open() const;
  /// Open, outside of a transaction, nothing unread, and the peer has not hung up as far as the socket knows.
  [[nodiscard]] bool is_idle();
  [[nodiscard]] int server_version() const;  ///< 150004 = 15.4
  [[nodiscard]] int backend_pid() const;

 private:
  Task<void> start(const ConnectOptions& options);
  Task<void> flush(Deadline& deadline);
  Task<ResultPtr> next_result(Deadline& deadline);
  Task<ResultPtr> collect(Deadline& deadline);
  Task<std::string> prepare(const std::string& sql, Deadline& deadline);
  Task<Rows> receive(bool was_sent, Deadline& deadline);
  Task<void> receive_stream(bool was_sent, const std::function<bool(const Row&)>& on_row, Deadline& deadline,
                            Pace* pace = nullptr);
  Task<std::vector<Rows>> receive_all(bool was_sent, std::size_t count, Deadline& deadline);
  Task<void> leave_pipeline(Deadline& deadline);
  Error closed_error(const Deadline& deadline);
  Error give_up(Error error);

  std::shared_ptr<Socket> socket_;
  pg_conn* conn_ = nullptr;
  std::map<std::string, std::string> prepared_;  ///< statement -> its name in the session
};

}  // namespace viewgate::ledger::pg
