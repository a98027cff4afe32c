// A resume storm, on a PostgreSQL and a gateway of its own:
//
//   resume_bench [clients [missed commits]]
//
// The node is killed, commits of some 300 bytes go on, and everybody comes at once to a node that knows nothing of their space:
// from the first connect until the last client has the last commit, once with one view for all, once with a hundred among them.
// The clients live on one thread; its share of that time is told beside it, since it may be what was measured. Medians of five
// rounds; the last line is JSON.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "loadtest/client.hpp"
#include "loadtest/process_use.hpp"
#include "loadtest/token.hpp"
#include "support/line.hpp"

namespace {

using namespace viewgate;  // NOLINT(google-build-using-namespace): a program of one file
using loadtest::Clock;
using testing::Line;

constexpr std::chrono::seconds long_time{120};
constexpr std::size_t rounds = 5;

double own_cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/// Clients on this thread, which do nothing but what they are told.
class Crowd {
 public:
  explicit Crowd(std::uint16_t port) : port_(port) { tokens_.secret = testing::file_text(testing::key_file()); }

  void add(loadtest::Wanted wanted) {
    const std::string name = "client-" + std::to_string(clients_.size());
    clients_.push_back(std::make_unique<loadtest::Client>(
        loop_, name, loadtest::Address{"127.0.0.1", port_}, tokens_.make(name, R"("role":"reader")"),
        std::vector<loadtest::Wanted>{std::move(wanted)}, violations_, totals_));
    // A few fold their sets and so hold the server to the rest.
    constexpr std::size_t folding = 10;
    if (clients_.size() > folding) clients_.back()->set_keep(loadtest::Client::Keep::count);
  }
  void connect() {
    for (const auto& each : clients_) each->connect(Clock::now());
  }
  /// Turns until it holds for all, or ends the program.
  void turn_until(const std::function<bool(const loadtest::Client&)>& holds, const char* what) {
    const auto end = Clock::now() + long_time;
    const auto all = [&] { return std::ranges::all_of(clients_, [&](const auto& each) { return holds(*each); }); };
    while (!all()) {
      if (Clock::now() > end || violations_.count() > 0) {
        std::fprintf(stderr, "%s: %s\n", what,
                     violations_.count() > 0 ? violations_.kept().front().c_str() : "not in time");
        std::exit(1);
      }
      constexpr std::chrono::milliseconds turn{10};
      loop_.turn(turn);
      for (const auto& each : clients_) each->tick(Clock::now());
    }
  }
  [[nodiscard]] const loadtest::Totals& totals() const { return totals_; }

 private:
  const std::uint16_t port_;
  loadtest::TokenMaker tokens_;
  loadtest::Loop loop_;
  loadtest::Violations violations_;
  loadtest::Totals totals_;
  std::vector<std::unique_ptr<loadtest::Client>> clients_;
};

struct Round {
  double milliseconds = 0;
  double server_cpu_ms = 0;
  double clients_cpu_ms = 0;
};

/// `views`: how many different ones of the space the clients have among them.
Round resume_once(Line& line, std::size_t clients, int missed, int views) {
  const std::string space = line.new_space();
  const auto commit = [&] {
    line.session().query(
        "insert into items (space, id, n, x, status) values ($1, nextval('items_id'), 5, repeat('x', 100), 'open')",
        {space});
  };
  Crowd crowd(line.port());
  for (std::size_t i = 0; i < clients; ++i) {
    const std::string low = std::to_string(static_cast<int>(i) % views - views);
    if (views == 1) {
      crowd.add({"s", space, "everything"});
    } else {
      crowd.add({"s", space, "between_n", R"({"low":)" + low + R"(,"high":1000})"});
    }
  }
  commit();
  crowd.connect();
  crowd.turn_until([](const auto& each) { return each.live(); }, "going live");
  line.gateway().process().kill();
  crowd.turn_until([](const auto& each) { return !each.online(); }, "the kill");
  for (int i = 0; i < missed; ++i) commit();
  line.sql("select viewgate.look(null)");
  line.gateway().start_again();
  const std::int64_t head = line.settled_head(space);
  const pid_t pid = line.gateway().process().pid();
  const double server_before = loadtest::process_use(pid).cpu_seconds;
  const double own_before = own_cpu_seconds();
  const auto begin = Clock::now();
  crowd.connect();
  crowd.turn_until([&](const auto& each) { return each.live() && each.fold_of(0).sequence() >= head; }, "resuming");
  Round out;
  out.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  out.clients_cpu_ms = (own_cpu_seconds() - own_before) * 1000;
  out.server_cpu_ms = (loadtest::process_use(pid).cpu_seconds - server_before) * 1000;
  if (crowd.totals().bootstraps != clients || crowd.totals().resets != 0) {
    std::fprintf(stderr, "not everybody resumed\n");
    std::exit(1);
  }
  return out;
}

double median(std::vector<Round> all, double Round::*figure) {
  std::ranges::sort(all, {}, figure);
  return all[all.size() / 2].*figure;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int clients = argument(1, 1000);
  const int missed = argument(2, 100);
  if (clients < 1 || missed < 1) {
    std::fprintf(stderr, "resume_bench [clients [missed commits]]\n");
    return 64;
  }
  Line line(testing::durable_cluster());
  std::string json =
      R"({"bench":"resume","clients":)" + std::to_string(clients) + R"(,"missed":)" + std::to_string(missed);
  for (const int views : {1, 100}) {
    std::vector<Round> all;
    for (std::size_t i = 0; i < rounds; ++i)
      all.push_back(resume_once(line, static_cast<std::size_t>(clients), missed, views));
    const double total = median(all, &Round::milliseconds);
    const double server = median(all, &Round::server_cpu_ms);
    const double own = median(all, &Round::clients_cpu_ms);
    std::printf("%3d view%s  all back after %6.0f ms (CPU: gateway %.0f ms, clients %.0f ms)\n", views,
                views == 1 ? " " : "s", total, server, own);
    const std::string name = ",\"views_" + std::to_string(views);
    json += name + "_ms\":" + std::to_string(total) + name + "_server_cpu_ms\":" + std::to_string(server) + name +
            "_clients_cpu_ms\":" + std::to_string(own);
  }
  std::printf("%s}\n", json.c_str());
  return 0;
}
