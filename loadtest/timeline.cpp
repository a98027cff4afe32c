#include "loadtest/timeline.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace viewgate::loadtest {

Timeline::Timeline(Sources sources, std::chrono::milliseconds interval)
    : sources_(std::move(sources)), interval_(interval), database_(std::make_unique<Database>(sources_.database)) {}

void Timeline::start() {
  begin_ = last_ = told_ = Clock::now();
  last_deliveries_ = sources_.swarm->deliveries();
  last_client_ = sources_.swarm->cpu();
  if (sources_.server != 0) last_server_ = process_use(sources_.server);
  thread_ = std::thread([this] { run(); });
}

void Timeline::begin_step(std::size_t step, const std::string& name) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  step_name_ = name;
  last_commits_ = 0;
  step_deliveries_ = sources_.swarm->deliveries();
}

std::vector<TimelinePoint> Timeline::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (!problem_.empty()) throw std::runtime_error(std::exchange(problem_, {}));
  return std::move(points_);
}

void Timeline::run() {
  try {
    for (Clock::time_point next = begin_ + interval_; !stop_; next += interval_) {
      while (!stop_ && Clock::now() < next)
        std::this_thread::sleep_for(std::min<Clock::duration>(std::chrono::milliseconds(50), next - Clock::now()));
      if (!stop_) look();
    }
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
}

void Timeline::look() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  const std::uint64_t commits = sources_.recorder->committed(), deliveries = sources_.swarm->deliveries();
  const std::chrono::nanoseconds client = sources_.swarm->cpu();
  const Histogram recent = sources_.recorder->take_recent();
  TimelinePoint point;
  point.at = std::chrono::duration<double>(now - begin_).count();
  point.step = step_;
  // A step that begins between two looks counts from zero again.
  point.commits = static_cast<double>(commits - std::min(commits, last_commits_)) / seconds;
  point.deliveries = static_cast<double>(deliveries - last_deliveries_) / seconds;
  point.p50 = recent.percentile(0.5);
  point.p99 = recent.percentile(0.99);
  point.max = recent.max();
  point.client_cpu = std::chrono::duration<double>(client - last_client_).count() / seconds * 100;
  if (sources_.server != 0) {
    const ProcessUse server = process_use(sources_.server);
    point.server_cpu = (server.cpu_seconds - last_server_.cpu_seconds) / seconds * 100;
    point.server_mb = static_cast<double>(server.rss_bytes) / 1e6;
    last_server_ = server;
  }
  point.waiting = std::stod(std::string(database_->query("select count(*) from viewgate.waiting").at(0, 0)));
  if (sources_.countable) {
    const std::uint64_t expected = sources_.recorder->expected(), come = deliveries - step_deliveries_;
    point.under_way = static_cast<double>(expected - std::min(expected, come));
  }
  points_.push_back(point);
  last_ = now;
  last_commits_ = commits;
  last_deliveries_ = deliveries;
  last_client_ = client;
  if (!sources_.progress || now - told_ < std::chrono::seconds(1)) return;
  told_ = now;
  char line[240];
  std::snprintf(line, sizeof(line),
                "%5.0f s  %s: %.0f commits/s, %.0f deliveries/s, p50 %.1f p99 %.1f ms, server %.0f %% %.0f MB, client "
                "%.0f %%, waiting %.0f",
                point.at, step_name_.c_str(), point.commits, point.deliveries, point.p50, point.p99, point.server_cpu,
                point.server_mb, point.client_cpu, point.waiting);
  sources_.progress(line);
}

}  // namespace viewgate::loadtest
