#include "loadtest/population.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "loadtest/pgbench_views.hpp"

namespace viewgate::loadtest {

namespace {

constexpr int top = 2'000'000'000;  // above every mark, with room for a million groups before int4 ends
constexpr int pgbench_range = 2500;
constexpr std::size_t stopped_bytes_per_second = 1;

bool touched(const Scenario::Clients& clients, std::size_t group) {
  return clients.touched == 0 || group < clients.touched;
}

/// The same records for all groups that are touched, but each by a filter of its own.
Watched watched_of(const Scenario& scenario, std::size_t space, std::size_t group) {
  const int offset = static_cast<int>(group);
  Watched out{space_of(scenario.clients.view, space), "watch", mark_base, top + offset, watched_digit};
  if (scenario.clients.view == ScenarioView::overdrawn) out.view = "overdrawn";
  if (scenario.clients.view == ScenarioView::board) out.view = "board";
  if (scenario.writes.door == Door::pgbench) {
    out.low = -pgbench_range;
    out.high = pgbench_range + offset;
  } else if (!touched(scenario.clients, group)) {
    out.low = top + offset;
  }
  return out;
}

/// Slow readers come after the sample, and fold: whether they end up right is what is asked about them.
void set_pace(const Scenario::Clients& clients, std::size_t index, SwarmMember& member) {
  const auto share = [&](double part) {
    return static_cast<std::size_t>(std::lround(part * static_cast<double>(clients.count)));
  };
  const std::size_t slow_end = clients.sample + share(clients.slow), stopped_end = slow_end + share(clients.stopped);
  if (index < clients.sample) return;
  if (index < slow_end) {
    member.bytes_per_second = clients.slow_bytes_per_second;
  } else if (index < stopped_end) {
    member.bytes_per_second = stopped_bytes_per_second;
  } else {
    member.keep = Client::Keep::count;
  }
}

}  // namespace

std::string space_of(ScenarioView view, std::size_t index) {
  return view == ScenarioView::board ? "load-" + std::to_string(index) : std::to_string(index + 1);
}

std::string token_of_reader(const TokenMaker& tokens, const std::string& subject) {
  return tokens.make(subject, R"("role":"lead","digit":")" + std::to_string(watched_digit) + '"');
}

Population populate(const Scenario& scenario, const TokenMaker& tokens) {
  const Scenario::Clients& clients = scenario.clients;
  Population out;
  out.receivers.resize(clients.spaces);
  for (std::size_t space = 0; space < clients.spaces; ++space) out.spaces.push_back(space_of(clients.view, space));
  for (std::size_t i = 0; i < clients.count; ++i) {
    // Each a principal with bounds of its own. Who leads sees the whole board, so that its group does not depend on the subject.
    const std::string subject = "reader-" + std::to_string(i);
    SwarmMember member{"client-" + std::to_string(i), token_of_reader(tokens, subject), {}};
    set_pace(clients, i, member);
    std::vector<Question> questions;
    for (std::size_t k = 0; k < clients.subscriptions; ++k) {
      const std::size_t place = i * clients.subscriptions + k;
      const std::size_t space = place % clients.spaces, group = place / clients.spaces % clients.groups;
      const Watched watched = watched_of(scenario, space, group);
      member.wanted.push_back(wanted_of(watched, "s" + std::to_string(k)));
      if (touched(clients, group)) ++out.receivers[space];
      if (member.keep == Client::Keep::set) questions.push_back(question_of(watched));
    }
    out.members.push_back(std::move(member));
    out.questions.push_back(std::move(questions));
  }
  return out;
}

std::vector<std::string> check_population(const std::vector<std::unique_ptr<Client>>& clients,
                                          const Population& population, Checker& checker) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    for (std::size_t k = 0; k < population.questions[i].size(); ++k) {
      for (std::string& what : checker.check(clients[i]->fold_of(k), population.questions[i][k]))
        out.push_back(std::move(what));
    }
  }
  return out;
}

std::optional<std::size_t> mark_of(const std::vector<Member>& document) {
  if (unquoted(member(document, "type")) != "commit" || member(document, "last") == "false") return std::nullopt;
  // All records of a commit have its mark: the first event says it.
  std::vector<std::string_view> events;
  std::vector<Member> event, columns;
  if (!elements(member(document, "events"), events) || events.empty() || !members(events.front(), event))
    return std::nullopt;
  const std::string_view changed = member(event, "changed");
  const std::string_view body = changed.empty() ? member(event, "record") : changed;
  if (body.empty() || !members(body, columns)) return std::nullopt;
  const std::string_view balance = member(columns, "abalance");
  const std::int64_t value = integer(balance.empty() ? member(columns, "priority") : balance).value_or(0);
  const std::int64_t mark = std::abs(value) - mark_base;
  if (mark < 0) return std::nullopt;
  return static_cast<std::size_t>(mark);
}

}  // namespace viewgate::loadtest
