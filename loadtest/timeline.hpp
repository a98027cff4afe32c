// Looks at a run at an even pace, on a thread of its own: what the report plots, and a line of progress each second.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "loadtest/database.hpp"
#include "loadtest/process_use.hpp"
#include "loadtest/recorder.hpp"
#include "loadtest/run_report.hpp"
#include "loadtest/swarm.hpp"

namespace viewgate::loadtest {

class Timeline {
 public:
  struct Sources {
    Recorder* recorder = nullptr;
    Swarm* swarm = nullptr;
    pid_t server = 0;  ///< 0: nothing of the server's process
    std::string database;
    bool countable = false;  ///< every delivery is to come once, so what is under way can be told
    std::function<void(const std::string&)> progress;
  };

  Timeline(Sources sources, std::chrono::milliseconds interval);
  ~Timeline() { stop(); }
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  void start();
  /// The next points belong to this step.
  void begin_step(std::size_t step, const std::string& name);
  /// Throws what a look threw.
  std::vector<TimelinePoint> stop();

 private:
  void run();
  void look();

  Sources sources_;
  std::chrono::milliseconds interval_;
  std::unique_ptr<Database> database_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // over all that follows
  std::vector<TimelinePoint> points_;
  std::size_t step_ = 0;
  std::string step_name_;
  std::string problem_;
  Clock::time_point begin_, last_, told_;
  std::uint64_t last_commits_ = 0, last_deliveries_ = 0, step_deliveries_ = 0;
  ProcessUse last_server_;
  std::chrono::nanoseconds last_client_{0};
};

}  // namespace viewgate::loadtest
