#include "loadtest/scenario.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace viewgate::loadtest {

namespace {

std::string plain(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// Takes known keys out of a file and collects what is wrong with them and what nobody asked for.
class Reading {
 public:
  Reading(const toml::table& root, std::string file) : root_(root), file_(std::move(file)) {}

  void problem(std::size_t line, const std::string& what) {
    problems_.emplace_back(line, file_ + ":" + std::to_string(line) + ": " + what);
  }

  template <class Value>
  void text(const std::string& key, Value& out) {
    if (const toml::node* node = take(key)) {
      if (const auto value = node->value_exact<std::string>()) {
        out = *value;
      } else {
        wrong(*node, key, "must be a text in quotes");
      }
    }
  }

  template <class Value>
  void number(const std::string& key, Value& out, double min, double max) {
    if (const toml::node* node = take(key)) {
      if (const std::optional<double> value = number_of(*node, key, std::is_integral_v<Value>, min, max))
        out = static_cast<Value>(*value);
    }
  }

  void seconds(const std::string& key, std::chrono::milliseconds& out, double min, double max) {
    double value = static_cast<double>(out.count()) / 1000;
    number(key, value, min, max);
    out = std::chrono::milliseconds(static_cast<std::int64_t>(value * 1000));
  }

  void numbers(const std::string& key, std::vector<double>& out, double min, double max) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::array* all = node->as_array();
    if (all == nullptr || all->empty()) return wrong(*node, key, "must be a list of numbers, [100, 200]");
    out.clear();
    for (const toml::node& one : *all) {
      if (const auto value = number_of(one, key, false, min, max)) out.push_back(*value);
    }
  }

  template <class Value>
  void choice(const std::string& key, Value& out, const std::vector<std::pair<std::string, Value>>& choices) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    std::string names;
    for (const auto& [name, value] : choices) {
      names += (names.empty() ? "" : ", ") + name;
      if (node->value_exact<std::string>() == name) {
        out = value;
        return;
      }
    }
    wrong(*node, key, "must be one of " + names);
  }

  std::size_t line_of(const std::string& key) const {
    const toml::node_view<const toml::node> node = root_.at_path(key);
    return node ? node.node()->source().begin.line : 1;
  }

  bool sound() const { return problems_.empty(); }
  void refuse_unknown() { refuse_unknown(root_, ""); }

  std::vector<std::string> problems() {
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const auto& left, const auto& right) { return left.first < right.first; });
    std::vector<std::string> out;
    for (auto& [line, what] : problems_) out.push_back(std::move(what));
    return out;
  }

 private:
  const toml::node* take(const std::string& key) {
    known_.insert(key);
    if (const std::size_t dot = key.find('.'); dot != std::string::npos) sections_.insert(key.substr(0, dot));
    return root_.at_path(key).node();
  }

  void wrong(const toml::node& node, const std::string& key, const std::string& what) {
    problem(node.source().begin.line, key + ": " + what);
  }

  std::optional<double> number_of(const toml::node& node, const std::string& key, bool whole, double min, double max) {
    const std::optional<double> value = node.is_integer() || !whole ? node.value<double>() : std::nullopt;
    if (value && node.is_number() && *value >= min && *value <= max) return value;
    wrong(node, key,
          std::string("must be a ") + (whole ? "whole " : "") + "number from " + plain(min) + " to " + plain(max));
    return std::nullopt;
  }

  void refuse_unknown(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (prefix.empty() && sections_.contains(key)) {
        if (const toml::table* section = node.as_table()) {
          refuse_unknown(*section, key + ".");
        } else {
          wrong(node, key, "must be a section, [" + key + "]");
        }
      } else if (!known_.contains(key)) {
        wrong(node, key, "is not known; known are " + known_beside(prefix));
      }
    }
  }

  std::string known_beside(const std::string& prefix) const {
    std::string out;
    const auto add = [&](const std::string& name) { out += (out.empty() ? "" : ", ") + name; };
    for (const std::string& key : known_) {
      if (!key.starts_with(prefix) || key.find('.', prefix.size()) != std::string::npos) continue;
      add(key.substr(prefix.size()));
    }
    if (prefix.empty()) {
      for (const std::string& section : sections_) add("[" + section + "]");
    }
    return out;
  }

  const toml::table& root_;
  std::string file_;
  std::set<std::string> known_, sections_;
  std::vector<std::pair<std::size_t, std::string>> problems_;
};

void read_keys(Reading& reading, Scenario& out) {
  constexpr double many = 1'000'000;
  reading.text("name", out.name);
  reading.text("about", out.about);
  reading.number("seed", out.seed, 0, 1e15);
  Scenario::Clients& clients = out.clients;
  reading.number("clients.count", clients.count, 1, many);
  reading.number("clients.subscriptions", clients.subscriptions, 1, 10'000);
  reading.number("clients.spaces", clients.spaces, 1, many);
  reading.choice(
      "clients.view", clients.view,
      {{"watch", ScenarioView::watch}, {"overdrawn", ScenarioView::overdrawn}, {"board", ScenarioView::board}});
  reading.number("clients.groups", clients.groups, 1, many);
  reading.number("clients.touched", clients.touched, 0, many);
  reading.number("clients.sample", clients.sample, 1, many);
  reading.number("clients.slow", clients.slow, 0, 1);
  reading.number("clients.slow_bytes_per_second", clients.slow_bytes_per_second, 100, 1e9);
  reading.number("clients.stopped", clients.stopped, 0, 1);
  reading.number("clients.connects_per_second", clients.connects_per_second, 100, 1e9);
  Scenario::Writes& writes = out.writes;
  reading.choice("writes.door", writes.door,
                 {{"captured", Door::captured},
                  {"append", Door::append},
                  {"mutations", Door::mutations},
                  {"pgbench", Door::pgbench}});
  reading.numbers("writes.rates", writes.rates, 0, many);
  reading.seconds("writes.seconds", writes.step, 0.1, 1e6);
  reading.number("writes.connections", writes.connections, 1, 1000);
  reading.number("writes.changes", writes.changes, 1, 99'000);
  reading.number("writes.bytes", writes.bytes, 0, 30'000);
  reading.choice("storm.kind", out.storm.kind, {{"resume", StormKind::resume}, {"bootstrap", StormKind::bootstrap}});
  reading.number("storm.rounds", out.storm.rounds, 1, 1000);
  reading.number("storm.missed", out.storm.missed, 1, many);
  reading.seconds("churn.mean_seconds", out.churn.mean, 0.01, 1e6);
  reading.number("churn.anew", out.churn.anew, 0, 1);
  reading.number("bounds.server_growth_mb", out.bounds.server_growth_mb, 0, 1e6);
}

/// What keys say together: each says which key is to be another.
void check_relations(Reading& reading, const Scenario& scenario) {
  constexpr std::size_t branches = 10, accounts_of_teller = 10'000;
  const auto require = [&](bool holds, const std::string& key, const std::string& what) {
    if (!holds) reading.problem(reading.line_of(key), key + ": " + what);
  };
  const Scenario::Clients& clients = scenario.clients;
  const bool managed = clients.view == ScenarioView::board;
  const Door door = scenario.writes.door;
  require(!scenario.name.empty(), "name", "is missing; the report is called by it");
  require(managed == (door == Door::append || door == Door::mutations), "writes.door",
          managed ? "view board is written through append or mutations"
                  : "this view is written through captured or pgbench");
  require(managed || clients.spaces <= branches, "clients.spaces",
          "pgbench's tables have 10 branches; more spaces: view board");
  require(clients.groups == 1 || clients.view == ScenarioView::watch, "clients.groups",
          "only view watch has filters to tell apart");
  require(clients.touched <= clients.groups, "clients.touched", "must not be above clients.groups");
  require(clients.sample <= clients.count, "clients.sample", "must not be above clients.count");
  require(clients.subscriptions <= clients.spaces * clients.groups, "clients.subscriptions",
          "must not be above the number of spaces times groups");
  require(clients.slow + clients.stopped <= 1, "clients.stopped", "slow and stopped together are more than all");
  const std::size_t records = scenario.writes.changes * scenario.writes.connections;
  require(
      managed || records <= (clients.view == ScenarioView::watch ? accounts_of_teller : accounts_of_teller * 10 - 1),
      "writes.changes", "times writes.connections is more than the view has accounts in a branch");
  constexpr std::size_t message_bytes = 60'000, around_record = 300;
  require(door != Door::mutations || scenario.writes.changes * (scenario.writes.bytes + around_record) <= message_bytes,
          "writes.changes", "with this writes.bytes is more than one message of the protocol takes");
  require(door != Door::pgbench || scenario.storm.kind != StormKind::resume, "storm.kind",
          "pgbench cannot write a given number of commits; take another door");
}

}  // namespace

ScenarioFile parse_scenario(std::string_view text, const std::string& file) {
  ScenarioFile out;
  try {
    const toml::table root = toml::parse(text, file);
    Reading reading(root, file);
    read_keys(reading, out.scenario);
    // A value that was refused says nothing about how the others fit together.
    if (reading.sound()) check_relations(reading, out.scenario);
    reading.refuse_unknown();
    out.problems = reading.problems();
  } catch (const toml::parse_error& error) {
    out.problems.push_back(file + ":" + std::to_string(error.source().begin.line) + ": " +
                           std::string(error.description()));
  }
  return out;
}

Scenario read_scenario(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read; it should be a scenario, see docs/loadtest.md");
  std::ostringstream text;
  text << file.rdbuf();
  ScenarioFile read = parse_scenario(text.str(), path);
  if (read.problems.empty()) return read.scenario;
  std::string all = "the scenario is not sound";
  for (const std::string& problem : read.problems) all += "\n" + problem;
  throw std::runtime_error(all);
}

}  // namespace viewgate::loadtest
