// How fast mutations are written: so many clients, each with one request on its way at a time, spread over so many
// spaces, for so long. Each request puts one record of 300 bytes. Prints one line of JSON. tests/bench/mutations.sh
// sets it beside a plain transaction of the same shape.
//
//   mutation_bench CONNINFO SPACES CLIENTS SECONDS
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "ledger/migrate.hpp"
#include "ledger/mutator.hpp"

namespace viewgate {
namespace {

using Clock = std::chrono::steady_clock;

class AllowAll : public ledger::WriteRules {
 public:
  [[nodiscard]] const ledger::ConflictGroups& groups_of(std::string_view) const override { return none_; }
  [[nodiscard]] std::optional<ledger::Rejection> judge(const ledger::Proposal&) const override { return std::nullopt; }

 private:
  const ledger::ConflictGroups none_;
};

class Bench {
 public:
  Bench(const std::string& conninfo, int spaces, std::chrono::seconds time)
      : mutator_(io_, conninfo, {}, {}), rules_(std::make_shared<AllowAll>()), spaces_(spaces), time_(time) {}

  /// Clients are warm for a second before anything counts.
  void run(int clients) {
    begin_ = Clock::now() + std::chrono::seconds(1);
    end_ = begin_ + time_;
    running_ = clients;
    for (int client = 0; client < clients; ++client) send(client, 1);
    while (running_ > 0) io_.run_one();
    mutator_.stop();
  }

  void report(int clients) {
    std::ranges::sort(times_);
    const auto at = [this](double share) {
      return times_.empty() ? 0.0 : times_[static_cast<std::size_t>(share * static_cast<double>(times_.size() - 1))];
    };
    std::printf(
        "{\"spaces\": %d, \"clients\": %d, \"commits_per_second\": %.0f, \"p50_ms\": %.2f, \"p99_ms\": %.2f, "
        "\"transactions\": %llu, \"failures\": %llu}\n",
        spaces_, clients, static_cast<double>(times_.size()) / static_cast<double>(time_.count()), at(0.5), at(0.99),
        static_cast<unsigned long long>(mutator_.stats().transactions),
        static_cast<unsigned long long>(mutator_.stats().failures));
  }

 private:
  void send(int client, std::int64_t number) {
    if (Clock::now() >= end_) {
      --running_;
      return;
    }
    ledger::MutationRequest request;
    request.space = "s" + std::to_string(client % spaces_);
    request.client = run_ + std::to_string(client);
    request.principal = "bench";
    request.number = number;
    ledger::Mutation put;
    put.collection = "issues";
    put.key = "[" + std::to_string(number % 1000) + "]";
    put.value = R"({"client": )" + std::to_string(client) + R"(, "number": )" + std::to_string(number) +
                R"(, "text": ")" + std::string(260, 'x') + "\"}";
    request.body = put.value;
    request.mutations.push_back(std::move(put));
    const Clock::time_point sent = Clock::now();
    mutator_.mutate(std::move(request), rules_,
                    [this, client, number, sent](ledger::Result<ledger::MutationAnswer> answer) {
                      if (!answer || answer->kind != ledger::MutationAnswer::Kind::receipt) {
                        std::fprintf(stderr, "a request was not processed: %s\n",
                                     answer ? "not a receipt" : answer.error().detail.c_str());
                        std::exit(1);
                      }
                      const Clock::time_point now = Clock::now();
                      if (sent >= begin_ && now < end_)
                        times_.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
                      send(client, number + 1);
                    });
  }

  boost::asio::io_context io_;
  ledger::Mutator mutator_;
  const ledger::WriteRulesPtr rules_;
  const int spaces_;
  const std::chrono::seconds time_;
  const std::string run_ = std::to_string(Clock::now().time_since_epoch().count()) + "-";
  Clock::time_point begin_;
  Clock::time_point end_;
  int running_ = 0;
  std::vector<double> times_;
};

}  // namespace
}  // namespace viewgate

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: mutation_bench CONNINFO SPACES CLIENTS SECONDS\n");
    return 2;
  }
  if (const auto migrated = viewgate::ledger::migrate(arguments[1]); !migrated) {
    std::fprintf(stderr, "%s\n", migrated.error().detail.c_str());
    return 1;
  }
  const int clients = std::atoi(arguments[3]);
  viewgate::Bench bench(arguments[1], std::atoi(arguments[2]), std::chrono::seconds(std::atoi(arguments[4])));
  bench.run(clients);
  bench.report(clients);
  return 0;
}
