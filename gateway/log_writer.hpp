// Lines on their way out of the process. What the descriptor takes is written at once, by whoever logs; what it does not take now (a
// pipe or a socket whose reader is there and does not read) waits in a queue with a bound, for which a thread lives as long as
// something waits. So nobody who logs ever waits for whoever reads. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace viewgate::gateway::log {

class LogWriter {
 public:
  /// The line, with its end, that says how many were lost.
  using Account = std::function<std::string(std::uint64_t lost)>;

  /// `descriptor` outlives the writer and stays as it is for others that have it: it is not made non-blocking.
  LogWriter(int descriptor, std::size_t waiting_bytes_max, Account account);
  /// What still waits is dropped: see `flush`.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// With its end. A line that can neither be written nor wait is dropped and counted; the next one that is written has the account
  /// before it, and begins on a line of its own where a half one was left.
  void write(std::string_view line);

  /// Until nothing waits any more; false: something still does after so long.
  bool flush(std::chrono::milliseconds within);

  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  enum class Way { whole, in_pieces, socket };
  enum class Outcome { written, waits, failed };

  void choose_way(int descriptor);
  [[nodiscard]] std::ptrdiff_t try_write(std::string_view text) const;
  Outcome put(const std::string& text, std::size_t& done);
  Outcome put_first(std::string line);
  void keep(std::string_view line);
  void add(std::string line);
  void remove_first();
  void count_lost();
  void start_thread();
  void write_what_waits();
  void wait_for_room() const;

  const std::size_t waiting_bytes_max_;
  const Account account_;
  int descriptor_;
  bool is_ours_ = false;  ///< the descriptor, which was opened anew
  Way way_ = Way::whole;
  int stop_ = -1;  ///< readable: the thread is to end
  std::atomic<std::uint64_t> lost_{0};

  std::mutex mutex_;
  std::condition_variable flows_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t done_ = 0;      ///< bytes of the first that waits
  std::uint64_t untold_ = 0;  ///< lost since the last account
  bool is_torn_ = false;      ///< the last byte that was written ended no line
  bool is_running_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace viewgate::gateway::log
