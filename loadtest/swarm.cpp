#include "loadtest/swarm.hpp"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <sstream>

namespace viewgate::loadtest {

namespace {

constexpr std::chrono::milliseconds sweep_interval{10};
constexpr std::size_t behind_shown = 10;
constexpr std::size_t bytes_before_cut_max = 400'000;
// What the kernel keeps for a slow reader is not read slowly: little of it.
constexpr int slow_receive_buffer_bytes = 16 * 1024;

}  // namespace

Swarm::Swarm(SwarmOptions options) : options_(std::move(options)), calm_(options_.calm) {
  plans_.resize(options_.members.size());
  for (std::size_t i = 0; i < options_.members.size(); ++i) {
    const SwarmMember& member = options_.members[i];
    clients_.push_back(std::make_unique<Client>(loop_, member.name, options_.address, member.token, member.wanted,
                                                violations_, totals_));
    clients_[i]->set_keep(member.keep);
    plans_[i].random.seed(options_.seed * 1'000'003 + i);
    plans_[i].bytes_per_second = member.bytes_per_second;
    plans_[i].bootstrap_bytes_per_second = member.bootstrap_bytes_per_second;
    if (member.bytes_per_second > 0) clients_[i]->link().set_receive_buffer(slow_receive_buffer_bytes);
  }
}

void Swarm::start() {
  thread_ = std::thread([this] { run(); });
}

void Swarm::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Swarm::run() {
  while (!stop_) {
    loop_.turn(sweep_interval);
    if (has_errand_) {
      has_errand_ = false;
      errand_();
    }
    const Clock::time_point now = Clock::now();
    if (now - swept_ < sweep_interval) continue;
    swept_ = now;
    sweep(now);
  }
}

void Swarm::sweep(Clock::time_point now) {
  if (const Away away = away_; away != Away::nobody) return keep_away(away);
  connects_allowed_ = std::max<std::size_t>(1, options_.connects_per_second * sweep_interval.count() / 1000);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = *clients_[i];
    if (client.online()) {
      visit_online(client, plans_[i], now);
      client.tick(now);
    } else {
      visit_offline(client, plans_[i], now);
    }
  }
  deliveries_ = totals_.deliveries;
  connections_ = totals_.connections;
  if (!awaited_) return;
  // Under the lock, so that a goal is never taken for reached by a look at the one before it.
  const std::lock_guard lock(goal_mutex_);
  there_ = everyone_is_there();
}

void Swarm::visit_online(Client& client, Plan& plan, Clock::time_point now) {
  plan.was_online = true;
  // From the upgrade on: who does not read that far would never say hello.
  const std::size_t pace = client.live() ? plan.bytes_per_second : plan.bootstrap_bytes_per_second;
  const bool slow = pace > 0 && !calm_ && client.link().upgraded();
  client.link().read_only_on_demand(slow);
  // Reading no byte at all would be the end of the link.
  const std::size_t bytes = pace * sweep_interval.count() / 1000;
  if (slow && bytes > 0) client.link().read_some(bytes);
  if (calm_) {
    client.link().spare();
  } else if (now >= plan.at && plan.bytes_per_second == 0 && client.online()) {
    plan.at = after(now, plan, options_.mean_between_faults);
    misbehave(client, plan);
  }
}

void Swarm::keep_away(Away how) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = *clients_[i];
    if (client.online()) client.link().cut(true);
    plans_[i].was_online = false;
    plans_[i].at = {};
    if (how == Away::with_nothing) {
      for (Client::Subscription& subscription : client.subscriptions()) subscription.fold.forget();
    }
  }
  there_ = false;
  nobody_there_ = true;
}

void Swarm::send_away(Away how) {
  nobody_there_ = false;
  away_ = how;
  while (!nobody_there_ && !stop_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Swarm::between_turns(std::function<void()> what) {
  const std::lock_guard one_at_a_time(errand_mutex_);
  errand_ = std::packaged_task<void()>(std::move(what));
  std::future<void> done = errand_.get_future();
  has_errand_ = true;
  done.get();
}

std::chrono::nanoseconds Swarm::cpu() {
  clockid_t clock{};
  timespec time{};
  if (!thread_.joinable() || pthread_getcpuclockid(thread_.native_handle(), &clock) != 0) return {};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void Swarm::misbehave(Client& client, Plan& plan) {
  std::uniform_int_distribution<int> percent(0, 99);
  const int choice = percent(plan.random);
  if (choice < 30) {
    client.link().cut(choice < 15);
  } else if (choice < 60) {
    client.link().cut_after_reading(std::uniform_int_distribution<std::size_t>(0, bytes_before_cut_max)(plan.random));
  } else if (choice < 75) {
    client.link().cut_while_sending();
    client.unsubscribe(0);
  } else if (choice < 90) {
    // A shared set has no cursor of its own; leaving a view that others of the socket share is a test of its own.
    const bool alone = std::none_of(client.subscriptions().begin(), client.subscriptions().end(),
                                    [](const Client::Subscription& one) { return one.shares.has_value(); });
    if (alone)
      client.unsubscribe(std::uniform_int_distribution<std::size_t>(0, client.subscriptions().size() - 1)(plan.random));
  } else {
    client.link().close_politely(1000);
  }
}

void Swarm::visit_offline(Client& client, Plan& plan, Clock::time_point now) {
  if (plan.was_online) {
    plan.was_online = false;
    plan.at = after(now, plan, std::chrono::milliseconds(calm_ ? 100 : 500));
    const bool anew = std::uniform_real_distribution<double>(0, 1)(plan.random) < options_.anew;
    if (anew && !calm_) {
      for (Client::Subscription& subscription : client.subscriptions()) subscription.fold.forget();
    }
  }
  if (now < plan.at || connects_allowed_ == 0) return;
  if (const auto not_before = client.not_before(); not_before && now < *not_before) return;
  --connects_allowed_;
  client.set_address(any_node(plan));
  client.connect(now);
  plan.was_online = true;
  plan.at = after(now, plan, options_.mean_between_faults);
}

const Address& Swarm::any_node(Plan& plan) const {
  if (options_.others.empty()) return options_.address;
  const auto node = std::uniform_int_distribution<std::size_t>(0, options_.others.size())(plan.random);
  return node == 0 ? options_.address : options_.others[node - 1];
}

Clock::time_point Swarm::after(Clock::time_point now, Plan& plan, std::chrono::milliseconds mean) {
  const double factor = std::exponential_distribution<double>(1.0)(plan.random);
  const double wait = std::min(factor, 5.0) * static_cast<double>(mean.count());
  return now + std::chrono::milliseconds(static_cast<std::int64_t>(wait));
}

bool Swarm::everyone_is_there() const {
  for (const auto& client : clients_) {
    if (!client->live()) return false;
    for (std::size_t i = 0; i < client->subscriptions().size(); ++i) {
      const auto goal = goal_.find(client->subscriptions()[i].wanted.space);
      if (goal != goal_.end() && client->fold_of(i).sequence() < goal->second) return false;
    }
  }
  return true;
}

bool Swarm::wait_until_at(const std::map<std::string, std::int64_t>& heads, std::chrono::milliseconds time_max) {
  {
    const std::lock_guard lock(goal_mutex_);
    goal_ = heads;
    there_ = false;
    awaited_ = true;
  }
  const Clock::time_point end = Clock::now() + time_max;
  while (!there_ && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  awaited_ = false;
  return there_;
}

bool Swarm::wait_until_live(std::chrono::milliseconds time_max) { return wait_until_at({}, time_max); }

std::string Swarm::summary() const {
  std::ostringstream out;
  out << "connections " << totals_.connections << " (failed " << totals_.connections_failed << "), bootstraps "
      << totals_.bootstraps << ", resumptions " << totals_.resumptions << ", resets " << totals_.resets << ", refusals "
      << totals_.refusals << ", notices " << totals_.notices << ", drains " << totals_.drains << ", dead links "
      << totals_.dead_links << ", documents " << totals_.documents << ", deliveries " << totals_.deliveries << ", MB "
      << totals_.bytes / 1'000'000 << "\n";
  for (const auto& [why, count] : totals_.endings) out << "  ended " << count << " x " << why << "\n";
  const std::lock_guard lock(goal_mutex_);
  std::size_t behind = 0;
  for (const auto& client : clients_) {
    for (std::size_t i = 0; i < client->subscriptions().size(); ++i) {
      const Fold& fold = client->fold_of(i);
      const auto goal = goal_.find(client->subscriptions()[i].wanted.space);
      if (goal != goal_.end() && (!fold.live() || fold.sequence() < goal->second) && ++behind <= behind_shown) {
        out << "  " << fold.name() << " is at " << fold.sequence() << " of " << goal->second
            << (fold.live() ? "" : ", not live") << "\n";
      }
    }
  }
  if (behind > behind_shown) out << "  " << behind << " in all are behind\n";
  return out.str();
}

}  // namespace viewgate::loadtest
