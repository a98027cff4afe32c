#include "gateway/bootstrap_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

namespace viewgate::gateway {

namespace asio = boost::asio;

class BootstrapThread::Loop {
 public:
  Loop(asio::io_context& engine, const std::string& conninfo, ledger::ReaderOptions options)
      : engine_(engine),
        work_(asio::make_work_guard(io_)),
        reader_(io_, conninfo, options),
        thread_([this] { io_.run(); }) {}

  /// Asks the reader here; what it is asked for is told on the engine's thread.
  template <class Answer, class Ask>
  void ask(std::function<void(ledger::Result<Answer>)> done, Ask ask) {
    std::function<void(ledger::Result<Answer>)> told = [this, done = std::move(done)](ledger::Result<Answer> answer) {
      asio::post(engine_, [done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
    };
    asio::post(io_, [this, ask = std::move(ask), told = std::move(told)]() mutable { ask(reader_, std::move(told)); });
  }

  void run(std::function<void()> job, std::function<void()> done) {
    asio::post(io_, [this, job = std::move(job), done = std::move(done)]() mutable {
      job();
      job = {};  // what it holds is let go of here
      if (done) asio::post(engine_, std::move(done));
    });
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      reader_.stop();
      io_.stop();
    });
    thread_.join();
  }

  [[nodiscard]] asio::io_context& io() { return io_; }
  [[nodiscard]] ledger::pg::PoolStats pool() const { return reader_.pool(); }

 private:
  asio::io_context& engine_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  ledger::Reader reader_;
  std::thread thread_;
};

BootstrapThread::BootstrapThread(asio::io_context& engine, const std::string& conninfo, ledger::ReaderOptions options)
    : loop_(std::make_shared<Loop>(engine, conninfo, options)) {}

BootstrapThread::~BootstrapThread() { stop(); }

void BootstrapThread::stop() { loop_->stop(); }

ledger::pg::PoolStats BootstrapThread::pool() const { return loop_->pool(); }

asio::io_context& BootstrapThread::loop() { return loop_->io(); }

void BootstrapThread::read(std::string space, ledger::Position after, std::size_t bytes_max,
                           std::function<void(ledger::CommitPartPtr)> on_part,
                           std::function<void(ledger::Result<ledger::Position>)> done) {
  loop_->ask(std::move(done), [space = std::move(space), after, bytes_max, on_part = std::move(on_part)](
                                  ledger::Reader& reader, auto told) mutable {
    reader.read(std::move(space), after, bytes_max, std::move(on_part), std::move(told));
  });
}

void BootstrapThread::snapshot(ledger::SnapshotQuery query, std::chrono::milliseconds time_max,
                               std::function<bool(std::string_view)> on_row,
                               std::function<void(ledger::Result<ledger::Position>)> done) {
  loop_->ask(std::move(done), [query = std::move(query), time_max, on_row = std::move(on_row)](ledger::Reader& reader,
                                                                                               auto told) mutable {
    reader.snapshot(std::move(query), time_max, std::move(on_row), std::move(told));
  });
}

void BootstrapThread::receipts(ledger::ReceiptsQuery query,
                               std::function<void(ledger::Result<ledger::ReceiptsPage>)> done) {
  loop_->ask(std::move(done), [query = std::move(query)](ledger::Reader& reader, auto told) mutable {
    reader.receipts(std::move(query), std::move(told));
  });
}

std::function<void(std::function<void()>, std::function<void()>)> BootstrapThread::aside() const {
  // Not a share of it: a job may hold what holds this function.
  return [weak = std::weak_ptr<Loop>(loop_)](std::function<void()> job, std::function<void()> done) {
    if (const auto loop = weak.lock()) loop->run(std::move(job), std::move(done));
  };
}

}  // namespace viewgate::gateway
