#include "loadtest/writers.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <csignal>

#include <cstring>
#include <stdexcept>

#include "loadtest/database.hpp"

extern char** environ;

namespace viewgate::loadtest {

Writers::Writers(const Scenario& scenario, const Reach& reach, std::vector<std::uint64_t> receivers, Recorder& recorder)
    : scenario_(scenario), database_(reach.database), receivers_(std::move(receivers)), recorder_(&recorder) {
  reset_records(scenario, database_);
  if (scenario.writes.door == Door::pgbench) return;
  for (std::size_t i = 0; i < scenario.writes.connections; ++i) writers_.push_back(make_writer(scenario, reach, i));
}

Writers::~Writers() {
  stop();
  for (std::thread& thread : threads_) thread.join();
  end_pgbench();
}

void Writers::start(const Schedule& schedule) {
  recorder_->begin(schedule, next_mark_);
  if (scenario_.writes.door == Door::pgbench) return start_pgbench();
  running_ = writers_.size();
  for (std::size_t i = 0; i < writers_.size(); ++i)
    threads_.emplace_back([this, i, schedule, first = next_mark_] { write(i, schedule, first); });
  next_mark_ += schedule.count();
}

void Writers::write(std::size_t index, Schedule schedule, std::size_t first_mark) {
  try {
    for (std::size_t i = index; i < schedule.count() && !stop_; i += writers_.size()) {
      std::this_thread::sleep_until(schedule.due(i));
      const std::size_t space = i % scenario_.clients.spaces;
      recorder_->sent(first_mark + i, Clock::now());
      writers_[index]->commit(space, first_mark + i);
      recorder_->committed(first_mark + i, Clock::now(), receivers_[space]);
    }
  } catch (const std::exception& error) {
    const std::lock_guard lock(problem_mutex_);
    problem_ = error.what();
  }
  --running_;
}

void Writers::finish() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  end_pgbench();
  if (!problem_.empty()) throw std::runtime_error("a writer: " + problem_);
}

void Writers::start_pgbench() {
  const std::string clients = std::to_string(scenario_.writes.connections);
  const std::string seed = "--random-seed=" + std::to_string(scenario_.seed);
  std::vector<const char*> arguments{"pgbench",         "-n",   "-c", clients.c_str(), "-T", "1000000", seed.c_str(),
                                     database_.c_str(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int fd : {1, 2}) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
  const int failed = posix_spawnp(&pgbench_, "pgbench", &files, nullptr, const_cast<char**>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    pgbench_ = 0;
    throw std::runtime_error(std::string("pgbench cannot be started: ") + std::strerror(failed) +
                             "; it should be on PATH");
  }
}

void Writers::end_pgbench() {
  if (pgbench_ == 0) return;
  int status = 0;
  const bool ended = waitpid(pgbench_, &status, WNOHANG) == pgbench_;
  if (!ended) {
    kill(pgbench_, SIGTERM);
    waitpid(pgbench_, &status, 0);
  }
  pgbench_ = 0;
  // Its last transactions are finished or undone by PostgreSQL, in their own time.
  Database database(database_);
  const std::string sessions = "select exists (select from pg_stat_activity where application_name = 'pgbench')";
  while (database.query(sessions).at(0, 0) == "t") std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::lock_guard lock(problem_mutex_);
  if (ended) problem_ = "pgbench ended by itself; by hand it says why";
}

}  // namespace viewgate::loadtest
