#include "loadtest/peers/publishers.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "loadtest/database.hpp"
#include "loadtest/peers/receivers.hpp"

namespace viewgate::loadtest {

namespace {

/// One socket that everything is written to; what comes back is read and thrown away.
class SocketPublisher final : public Publisher, private Watcher {
 public:
  SocketPublisher(const PublisherOptions& options, Loop& loop) : options_(options), loop_(&loop) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(options.address.port);
    inet_pton(AF_INET, options.address.host.c_str(), &to.sin_addr);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
      throw std::runtime_error(std::string("the publisher's connection: ") + std::strerror(errno));
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (options.kind == "nats") unsent_ = "CONNECT {\"verbose\":false}\r\n";
    if (options.kind == "ws") unsent_ = upgrade_of(options.address, options.path, {});
    loop.watch(fd_, EPOLLIN, this);
    flush();
  }
  ~SocketPublisher() override {
    loop_->drop(fd_, this);
    ::close(fd_);
  }
  SocketPublisher(const SocketPublisher&) = delete;
  SocketPublisher& operator=(const SocketPublisher&) = delete;

  void publish(const std::string& text) override {
    if (options_.kind == "http") {
      const std::string body = options_.before + text + options_.after;
      unsent_ +=
          "POST " + options_.path +
          " HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n\r\n" + body;
    } else if (options_.kind == "nats") {
      unsent_ += "PUB " + options_.path + " " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    } else {
      unsent_ += client_frame(1, text);
    }
    flush();
  }

  std::string problem() override { return problem_; }

 private:
  void on_ready(std::uint32_t events) override {
    std::array<char, 65536> buffer;
    if ((events & EPOLLIN) != 0 && recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT) == 0)
      problem_ = "the server closed the publisher's connection";
    flush();
  }

  void flush() {
    const ssize_t count =
        unsent_.empty() ? 0 : ::send(fd_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) problem_ = std::strerror(errno);
    loop_->change(fd_, unsent_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT, this);
  }

  PublisherOptions options_;
  Loop* loop_;
  int fd_ = -1;
  std::string unsent_;
  std::string problem_;
};

/// A session of PostgreSQL on a thread of its own, one transaction after the other.
class SqlPublisher final : public Publisher {
 public:
  explicit SqlPublisher(const PublisherOptions& options)
      : database_(options.database), statement_(options.statement), thread_([this] { run(); }) {}
  ~SqlPublisher() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    bell_.notify_one();
    thread_.join();
  }
  SqlPublisher(const SqlPublisher&) = delete;
  SqlPublisher& operator=(const SqlPublisher&) = delete;

  void publish(const std::string& text) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(text);
    }
    bell_.notify_one();
  }

  std::string problem() override {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  void run() {
    try {
      for (;;) {
        std::unique_lock lock(mutex_);
        bell_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
        if (stop_) return;
        const std::string text = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        database_.query(statement_, {text});
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      problem_ = error.what();
    }
  }

  Database database_;
  std::string statement_;
  std::mutex mutex_;
  std::condition_variable bell_;
  std::deque<std::string> waiting_;
  std::string problem_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Publisher> make_publisher(const PublisherOptions& options, Loop& loop) {
  if (options.kind == "none") return nullptr;
  if (options.kind == "sql") return std::make_unique<SqlPublisher>(options);
  return std::make_unique<SocketPublisher>(options, loop);
}

}  // namespace viewgate::loadtest
