// Many clients on one thread, behaving badly under a seed: they are cut at any byte in either direction, come back with
// their cursor or anew, leave and return to a view, and some read slowly. Called to be calm, they come back and stay.
//
// The same crowd, calm from the start, is what measurements are made with.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "loadtest/client.hpp"

namespace viewgate::loadtest {

struct SwarmMember {
  std::string name;
  std::string token;
  std::vector<Wanted> wanted;
  /// A slow reader, once all its views are live; 0 = as fast as it can; below 100 it takes nothing. Its slowness is its fault:
  /// it is cut by others only.
  std::size_t bytes_per_second = 0;
  std::size_t bootstrap_bytes_per_second = 0;  ///< until then; 0 = as fast as it can
  Client::Keep keep = Client::Keep::set;
};

struct SwarmOptions {
  Address address;
  std::vector<Address> others;  ///< further nodes: each connection goes to any of them all
  std::vector<SwarmMember> members;
  std::uint64_t seed = 1;
  std::chrono::milliseconds mean_between_faults{3000};  ///< per client
  double anew = 0.2;                                    ///< share of returns without a cursor
  bool calm = false;
  std::size_t connects_per_second = 2000;
};

class Swarm {
 public:
  enum class Away : std::uint8_t { nobody, with_cursor, with_nothing };

  explicit Swarm(SwarmOptions options);
  ~Swarm() { stop(); }
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;

  /// Before start: what sees every document of a client, on the swarm's thread.
  void observe(std::size_t client, Client::Observer observer) { clients_[client]->set_observer(std::move(observer)); }

  void start();
  /// Faults and slow reading begin, where the swarm was calm.
  void stir() { calm_ = false; }
  /// No more faults: everyone comes back, reads at full speed and stays.
  void calm() { calm_ = true; }
  /// Cuts everyone at once and keeps them away, with their cursors or without; returns when nobody is connected.
  void send_away(Away how);
  /// They may come back, at connects_per_second.
  void let_return() { away_ = Away::nobody; }
  /// False when the time is over first. Both may be called from another thread.
  bool wait_until_live(std::chrono::milliseconds time_max);
  bool wait_until_at(const std::map<std::string, std::int64_t>& heads, std::chrono::milliseconds time_max);
  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t connections() const { return connections_; }
  /// CPU time of the thread that all clients live on; zero before start and after stop.
  std::chrono::nanoseconds cpu();
  void stop();

  /// Runs `what` on the swarm's thread between two turns and waits for it: clients may be looked at in it. What it throws
  /// is thrown here.
  void between_turns(std::function<void()> what);

  // After stop, or between turns.
  const std::vector<std::unique_ptr<Client>>& clients() const { return clients_; }
  const Violations& violations() const { return violations_; }
  const Totals& totals() const { return totals_; }
  /// What the swarm did and who is not where it should be: for the report of a failure.
  std::string summary() const;

 private:
  /// What one client is about to do.
  struct Plan {
    std::mt19937_64 random;
    Clock::time_point at;
    bool was_online = false;
    std::size_t bytes_per_second = 0, bootstrap_bytes_per_second = 0;
  };

  void run();
  void sweep(Clock::time_point now);
  void visit_online(Client& client, Plan& plan, Clock::time_point now);
  void visit_offline(Client& client, Plan& plan, Clock::time_point now);
  void keep_away(Away how);
  void misbehave(Client& client, Plan& plan);
  const Address& any_node(Plan& plan) const;
  bool everyone_is_there() const;  ///< goal_mutex_ is held
  Clock::time_point after(Clock::time_point now, Plan& plan, std::chrono::milliseconds mean);

  SwarmOptions options_;
  Loop loop_;
  Violations violations_;
  Totals totals_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Plan> plans_;
  Clock::time_point swept_;
  std::size_t connects_allowed_ = 0;
  std::thread thread_;
  std::atomic<Away> away_{Away::nobody};
  std::atomic<bool> nobody_there_{false};
  std::atomic<bool> calm_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> awaited_{false};  ///< somebody waits for there_
  std::atomic<bool> there_{false};
  std::atomic<std::uint64_t> deliveries_{0};
  std::atomic<std::uint64_t> connections_{0};
  std::mutex errand_mutex_;
  std::packaged_task<void()> errand_;
  std::atomic<bool> has_errand_{false};
  mutable std::mutex goal_mutex_;
  std::map<std::string, std::int64_t> goal_;  ///< by space: the sequence to be reached
};

}  // namespace viewgate::loadtest
