// The writers of a scenario, each on a thread of its own, at the pace of a schedule; or pgbench, as a child process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "loadtest/recorder.hpp"
#include "loadtest/writer.hpp"

namespace viewgate::loadtest {

class Writers {
 public:
  /// `receivers` by space, for the recorder's expectations.
  Writers(const Scenario& scenario, const Reach& reach, std::vector<std::uint64_t> receivers, Recorder& recorder);
  ~Writers();
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  /// Commits all of this schedule, mark after mark; a writer that comes late goes on at once.
  void start(const Schedule& schedule);
  bool done() const { return running_ == 0; }
  /// Waits for the end. Throws what a writer threw.
  void finish();
  /// What is not sent yet is left out.
  void stop() { stop_ = true; }

 private:
  void write(std::size_t index, Schedule schedule, std::size_t first_mark);
  void start_pgbench();
  void end_pgbench();

  const Scenario& scenario_;
  std::string database_;
  std::vector<std::uint64_t> receivers_;
  Recorder* recorder_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::thread> threads_;
  std::size_t next_mark_ = 0;
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> stop_{false};
  std::mutex problem_mutex_;
  std::string problem_;
  pid_t pgbench_ = 0;
};

}  // namespace viewgate::loadtest
