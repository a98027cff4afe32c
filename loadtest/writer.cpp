#include "loadtest/writer.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <vector>

#include "gateway/protocol.hpp"
#include "gateway/protocol_json.hpp"
#include "loadtest/database.hpp"
#include "loadtest/population.hpp"
#include "loadtest/slices.hpp"

namespace viewgate::loadtest {

namespace {

constexpr std::size_t leaving_each = 10;

/// Counts the commits of a writer by space.
class Visits {
 public:
  bool leaving(std::size_t space) { return ++counts_[space] % leaving_each == 0; }

 private:
  std::map<std::size_t, std::size_t> counts_;
};

class CapturedWriter final : public Writer {
 public:
  CapturedWriter(const Scenario& scenario, const Reach& reach, std::size_t index)
      : database_(reach.database),
        overdrawn_(scenario.clients.view == ScenarioView::overdrawn),
        changes_(scenario.writes.changes),
        first_(index * changes_) {
    database_.query(
        "prepare write(int, int, int, int) as "
        "update public.pgbench_accounts set abalance = $1 where aid in (select generate_series($2, $3, $4))");
    database_.query("prepare write_one(int, int) as update public.pgbench_accounts set abalance = $1 where aid = $2");
  }

  void commit(std::size_t space, std::size_t mark) override {
    const auto value = static_cast<std::int64_t>(mark_base + mark);
    const std::string balance = std::to_string(visits_.leaving(space) ? 0 : overdrawn_ ? -value : value);
    if (changes_ == 1) {
      database_.query("execute write_one(" + balance + ", " + account(space, first_) + ")");
    } else {
      database_.query("execute write(" + balance + ", " + account(space, first_) + ", " +
                      account(space, first_ + changes_ - 1) + ", " + std::to_string(step()) + ")");
    }
  }

 private:
  std::size_t step() const { return overdrawn_ ? 1 : 10; }
  std::string account(std::size_t space, std::size_t slot) const {
    constexpr std::size_t accounts_per_branch = 100'000;
    return std::to_string(space * accounts_per_branch + slot * step() + (overdrawn_ ? 1 : watched_digit));
  }

  Database database_;
  Visits visits_;
  bool overdrawn_;
  std::size_t changes_;
  std::size_t first_;
};

/// A card of the board.
class Cards {
 public:
  Cards(const Scenario& scenario, std::size_t index)
      : changes_(scenario.writes.changes), first_(index * changes_), note_(scenario.writes.bytes, 'x') {}

  std::size_t count() const { return changes_; }
  std::string id(std::size_t place) const {
    char out[40];
    std::snprintf(out, sizeof(out), "\"00000000-0000-4000-8000-%012zx\"", first_ + place);
    return out;
  }
  std::string record(std::size_t place, std::size_t mark) const {
    return "{\"id\":" + id(place) + R"(,"list":"open","title":"a card","note":")" + note_ +
           "\",\"priority\":" + std::to_string(mark_base + mark) + ",\"place\":1}";
  }

 private:
  std::size_t changes_;
  std::size_t first_;
  std::string note_;
};

class AppendWriter final : public Writer {
 public:
  AppendWriter(const Scenario& scenario, const Reach& reach, std::size_t index)
      : database_(reach.database), cards_(scenario, index) {}

  void commit(std::size_t space, std::size_t mark) override {
    const bool leaving = visits_.leaving(space);
    std::string changes = "[";
    for (std::size_t i = 0; i < cards_.count(); ++i) {
      changes += (i == 0 ? "" : ",") + (R"({"collection":"cards","key":[)" + cards_.id(i)) +
                 (leaving ? "],\"delete\":true}" : "],\"put\":" + cards_.record(i, mark) + "}");
    }
    database_.query("select viewgate.append($1, $2::jsonb)", {space_of(ScenarioView::board, space), changes + "]"});
  }

 private:
  Database database_;
  Visits visits_;
  Cards cards_;
};

/// A client that only writes, on a loop of its own.
class MutationWriter final : public Writer, private LinkOwner {
 public:
  MutationWriter(const Scenario& scenario, const Reach& reach, std::size_t index)
      : cards_(scenario, index),
        token_(token_of_reader(reach.tokens, "writer")),
        name_("loadtest-" + std::to_string(getpid()) + "-" +
              std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "-" +
              std::to_string(index)),
        link_(loop_, *this) {
    link_.open(reach.address);
    wait_for("welcome");
  }

  void commit(std::size_t space, std::size_t mark) override {
    const bool leaving = visits_.leaving(space);
    gateway::Mutate message;
    message.space = space_of(ScenarioView::board, space);
    message.number = ++numbers_[space];
    for (std::size_t i = 0; i < cards_.count(); ++i) {
      gateway::Mutation one;
      one.kind = leaving ? gateway::MutationKind::remove : gateway::MutationKind::put;
      one.collection = "cards";
      one.key = "[" + cards_.id(i) + "]";
      if (!leaving) one.values = cards_.record(i, mark);
      message.mutations.push_back(std::move(one));
    }
    std::string text;
    gateway::append_document(text, message);
    link_.send(text);
    wait_for("receipts");
  }

 private:
  void wait_for(const std::string& type) {
    constexpr std::chrono::seconds time_max{60};
    const Clock::time_point end = Clock::now() + time_max;
    awaited_ = type;
    while (!awaited_.empty() && problem_.empty() && Clock::now() < end) loop_.turn(std::chrono::milliseconds(100));
    if (problem_.empty() && !awaited_.empty()) problem_ = "no " + type + " within a minute";
    if (!problem_.empty()) throw std::runtime_error("a writer through mutations: " + problem_);
  }

  void on_open() override {
    std::string text;
    gateway::Hello hello;
    hello.protocol = gateway::protocol_version;
    hello.token = token_;
    hello.client = name_;
    gateway::append_document(text, hello);
    link_.send(text);
  }

  void on_message(std::string_view text) override {
    std::vector<Member> document;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view one = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (one.empty() || !members(one, document)) continue;
      const std::string_view type = unquoted(member(document, "type"));
      if (type == "ping") link_.send(R"({"type":"pong"})");
      const bool refused = type == "receipts" && one.find(R"("outcome":"applied")") == std::string_view::npos;
      if (type == "error" || refused) problem_ = one;
      if (type == awaited_) awaited_.clear();
    }
  }

  void on_ended(std::uint16_t, const std::string& why) override { problem_ = why; }

  Loop loop_;
  Visits visits_;
  Cards cards_;
  std::string token_;
  std::string name_;
  std::map<std::size_t, std::int64_t> numbers_;  ///< by space: the last one sent
  std::string awaited_;
  std::string problem_;
  Link link_;
};

}  // namespace

std::unique_ptr<Writer> make_writer(const Scenario& scenario, const Reach& reach, std::size_t index) {
  switch (scenario.writes.door) {
    case Door::captured:
      return std::make_unique<CapturedWriter>(scenario, reach, index);
    case Door::append:
      return std::make_unique<AppendWriter>(scenario, reach, index);
    case Door::mutations:
      return std::make_unique<MutationWriter>(scenario, reach, index);
    case Door::pgbench:
      break;
  }
  throw std::logic_error("pgbench writes by itself");
}

void reset_records(const Scenario& scenario, const std::string& database) {
  Database connection(database);
  if (scenario.clients.view == ScenarioView::board) {
    // One commit per space that still has cards of an earlier run.
    connection.query(
        "select viewgate.append(space, jsonb_agg(jsonb_build_object('collection', collection, 'key', key::jsonb, "
        "'delete', true))) from viewgate.records where collection = 'cards' and starts_with(space, 'load-') "
        "group by space");
  } else {
    connection.query("update public.pgbench_accounts set abalance = 0 where abs(abalance) >= " +
                     std::to_string(mark_base));
  }
}

}  // namespace viewgate::loadtest
