#include "gateway/log_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <system_error>
#include <utility>

namespace viewgate::gateway::log {

LogWriter::LogWriter(int descriptor, std::size_t waiting_bytes_max, Account account)
    : waiting_bytes_max_(waiting_bytes_max),
      account_(std::move(account)),
      descriptor_(descriptor),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  choose_way(descriptor);
}

LogWriter::~LogWriter() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  static_cast<void>(::eventfd_write(stop_, 1));
  if (thread_.joinable()) thread_.join();
  ::close(stop_);
  if (is_ours_) ::close(descriptor_);
}

/// A pipe is opened anew (proc(5)), so that it does not block us and still blocks those who share it. Where that may not be, it is
/// asked for room first, and a page is written at a time: so much fits into a pipe that says it has room.
void LogWriter::choose_way(int descriptor) {
  struct stat kind {};
  if (::fstat(descriptor, &kind) != 0) return;
  if (S_ISSOCK(kind.st_mode)) {
    way_ = Way::socket;
  } else if (S_ISFIFO(kind.st_mode) || S_ISCHR(kind.st_mode)) {
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const int again = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again < 0) {
      way_ = Way::in_pieces;
      return;
    }
    descriptor_ = again;
    is_ours_ = true;
  }
}

/// As write(2); EAGAIN where nothing can be taken now.
std::ptrdiff_t LogWriter::try_write(std::string_view text) const {
  switch (way_) {
    case Way::whole:
      return ::write(descriptor_, text.data(), text.size());
    case Way::socket:
      return ::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Way::in_pieces:
      break;
  }
  pollfd room{descriptor_, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

/// Goes on behind the `done` bytes that were written before.
LogWriter::Outcome LogWriter::put(const std::string& text, std::size_t& done) {
  while (done < text.size()) {
    const auto written = try_write(std::string_view(text).substr(done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return Outcome::waits;
    if (written <= 0) return Outcome::failed;
    done += static_cast<std::size_t>(written);
    is_torn_ = text[done - 1] != '\n';
  }
  return Outcome::written;
}

/// Nothing waits. What is not taken now is the first that does.
LogWriter::Outcome LogWriter::put_first(std::string line) {
  if (is_torn_) line.insert(line.begin(), '\n');
  std::size_t done = 0;
  const Outcome outcome = put(line, done);
  if (outcome == Outcome::waits) {
    add(std::move(line));
    done_ = done;
    start_thread();
  }
  return outcome;
}

void LogWriter::write(std::string_view line) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty() && untold_ > 0) {
    if (put_first(account_(untold_)) == Outcome::failed) {
      count_lost();
      return;
    }
    untold_ = 0;
  }
  if (!waiting_.empty()) {
    keep(line);
  } else if (put_first(std::string(line)) == Outcome::failed) {
    count_lost();
  }
}

void LogWriter::keep(std::string_view line) {
  if (waiting_bytes_ + line.size() > waiting_bytes_max_) {
    count_lost();
    return;
  }
  if (untold_ > 0) add(account_(std::exchange(untold_, 0)));
  add(std::string(line));
}

void LogWriter::add(std::string line) {
  waiting_bytes_ += line.size();
  waiting_.push_back(std::move(line));
}

void LogWriter::remove_first() {
  waiting_bytes_ -= waiting_.front().size();
  waiting_.pop_front();
  done_ = 0;
}

void LogWriter::count_lost() {
  ++lost_;
  ++untold_;
}

void LogWriter::start_thread() {
  if (is_running_) return;
  if (thread_.joinable()) thread_.join();  // it has ended, and is past its lock
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { write_what_waits(); });
    is_running_ = true;
  } catch (const std::system_error&) {
    remove_first();
    count_lost();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void LogWriter::write_what_waits() {
  ::pthread_setname_np(::pthread_self(), "log");
  std::unique_lock lock(mutex_);
  while (!waiting_.empty() && !is_stopping_) {
    const Outcome outcome = put(waiting_.front(), done_);
    if (outcome == Outcome::waits) {
      lock.unlock();
      wait_for_room();
      lock.lock();
      continue;
    }
    remove_first();
    if (outcome == Outcome::failed) count_lost();
    if (outcome == Outcome::written && waiting_.empty() && untold_ > 0) add(account_(std::exchange(untold_, 0)));
    if (is_torn_ && !waiting_.empty()) {
      waiting_.front().insert(0, 1, '\n');
      ++waiting_bytes_;
    }
  }
  is_running_ = false;
  flows_.notify_all();
}

void LogWriter::wait_for_room() const {
  std::array<pollfd, 2> either{pollfd{descriptor_, POLLOUT, 0}, pollfd{stop_, POLLIN, 0}};
  ::poll(either.data(), either.size(), -1);
}

bool LogWriter::flush(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  return flows_.wait_for(lock, within, [this] { return waiting_.empty(); });
}

}  // namespace viewgate::gateway::log
