// Goal (I4, I5, I6, at the projector): for any history, folding the events up to a sequence equals evaluating the view there,
// no event says what the fold knows already, and one group's replay gives the stream's bytes.
// Method: a random world of records in two spaces, random commits with several changes of one record, in one part or in parts
// ordered by key; many groups that share records; the oracle evaluates every record after every commit. The seed is printed;
// VIEWGATE_SEED replays it. A failing history is halved as long as it still fails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "projection/fixture.hpp"
#include "projection/json_text.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ledger::Change;
using ledger::ChangeKind;
using ledger::CommitPart;

constexpr const char* model_text = R"(
create table r (id int primary key, a int, b int, s text);
create view few as select id, a from r where a = params.a;
create view range as select id, b, s from r where a between params.low and params.high and b % 3 = claims.digit::int;
create view list as select id, s from r where s in ('x', 'y') or a is null;
create view odd as select id, a, b, s from r where b / a > 0 or s = claims.sub;
create policy p1 on few using (true); create policy p2 on range using (true);
create policy p3 on list using (true); create policy p4 on odd using (true);
)";

/// Key -> record text, in each space.
using State = std::map<std::string, std::map<int, std::string>>;

struct History {
  std::vector<std::vector<CommitPart>> commits;  ///< each in parts
  std::vector<State> states;                     ///< after each
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  History make(int commits) {
    History out;
    State state;
    std::map<std::string, std::int64_t> sequence;
    for (int i = 0; i < commits; ++i) {
      const std::string space = pick(2) == 0 ? "s1" : "s2";
      CommitPart whole = Make::part(space, ++sequence[space], changes(state[space]));
      out.commits.push_back(pick(4) == 0 ? split(whole) : std::vector<CommitPart>{whole});
      out.states.push_back(state);
    }
    return out;
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  std::string record(int id) {
    const auto number = [this] { return pick(5) == 0 ? std::string("null") : std::to_string(pick(7) - 2); };
    static constexpr const char* texts[] = {"\"x\"", "\"y\"", "\"z\"", "\"\\\"}\"", "null"};
    std::string out = "{\"a\": " + number() + ", \"b\": " + number() + ", \"id\": " + std::to_string(id);
    if (pick(4) != 0) out += std::string(", \"s\": ") + texts[pick(5)];
    return out + "}";
  }

  std::vector<Change> changes(std::map<int, std::string>& records) {
    std::vector<Change> out;
    const int count = pick(6);
    for (int i = 0; i < count; ++i) {
      const int id = pick(8);
      const std::string key = "[" + std::to_string(id) + "]";
      const auto found = records.find(id);
      if (found == records.end()) {
        records[id] = record(id);
        out.push_back(Make::created("r", key, records[id]));
      } else if (pick(3) == 0) {
        out.push_back(pick(2) == 0 ? Make::deleted("r", key, found->second) : Make::moved("r", key, found->second));
        records.erase(found);
      } else {
        const std::string before = found->second;
        found->second = record(id);
        out.push_back(Make::updated("r", key, before, found->second));
      }
      if (pick(5) == 0) out.push_back(Make::created("elsewhere", key, record(id)));
    }
    return out;
  }

  /// By key, all changes of a record in one part.
  std::vector<CommitPart> split(const CommitPart& whole) {
    std::vector<Change> sorted = whole.changes;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Change& a, const Change& b) {
      return std::tie(a.collection, a.key) < std::tie(b.collection, b.key);
    });
    std::vector<CommitPart> out;
    for (const Change& change : sorted) {
      const bool same = !out.empty() && out.back().changes.back().key == change.key &&
                        out.back().changes.back().collection == change.collection;
      if (!same && (out.empty() || pick(2) == 0)) {
        out.push_back(whole);
        out.back().changes.clear();
      }
      out.back().changes.push_back(change);
    }
    if (out.empty()) out.push_back(whole);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].first = i == 0;
      out[i].last = i + 1 == out.size();
      out[i].by_key = true;
    }
    return out;
  }

  std::mt19937_64 random_;
};

/// What a client does with the events; anything that does not fit what it holds is an error.
class Fold {
 public:
  std::string apply(const GroupEvents& events) {
    const auto json = parse_json(events.events);
    if (!json || json->kind != Json::Kind::array) return "not an array: " + events.events;
    if (json->items.size() != events.count) return "count";
    for (const Json& event : json->items) {
      const std::string key = event.find("key")->items.at(0).text;
      if (!touched_.insert(key).second) return "two events of one record in a commit: " + events.events;
      const std::string kind = event.find("kind")->text;
      const bool held = records_.contains(key);
      if (held == (kind == "entered")) return kind + " of " + key + " that is " + (held ? "held" : "not held");
      if (kind == "entered") {
        for (const auto& [name, value] : event.find("record")->members) records_[key][name] = value.text;
      } else if (kind == "updated") {
        for (const auto& [name, value] : event.find("changed")->members) {
          if (records_[key].at(name) == value.text) return "an update that changes nothing: " + events.events;
          records_[key][name] = value.text;
        }
      } else {
        if (event.members.size() != 2) return "more than the key of a record that leaves: " + events.events;
        records_.erase(key);
      }
    }
    if (events.last) touched_.clear();
    return {};
  }

  using Records = std::map<std::string, std::map<std::string, std::string>>;
  [[nodiscard]] const Records& records() const { return records_; }

 private:
  Records records_;
  std::set<std::string> touched_;
};

Fold::Records evaluate_all(const Group& group, const std::map<int, std::string>& records) {
  Fold::Records out;
  for (const auto& [id, text] : records) {
    const auto row = group.snapshot_record(text).value();
    if (!row) continue;
    const auto json = parse_json(*row);
    for (const auto& [name, value] : json->find("record")->members) out[std::to_string(id)][name] = value.text;
  }
  return out;
}

std::vector<GroupPtr> all_groups() {
  const ModelPtr model = parse_or_throw(model_text);
  std::vector<GroupPtr> out;
  for (const char* space : {"s1", "s2"}) {
    const auto add = [&](const char* view, const std::string& params, const std::string& claims) {
      out.push_back(projection::bind(*model, view, params, claims, space).value().group);
    };
    for (int a = -1; a < 4; ++a) add("few", "{\"a\":" + std::to_string(a) + "}", "{}");
    for (int digit = 0; digit < 3; ++digit)
      add("range", R"({"low":-1,"high":3})", "{\"digit\":" + std::to_string(digit) + "}");
    add("list", "{}", "{}");
    add("odd", "{}", R"({"sub":"x"})");
  }
  return out;
}

/// The first thing that is wrong; empty: nothing.
std::string judge(const History& history) {
  const std::vector<GroupPtr> groups = all_groups();
  Projector projector;
  std::map<const Group*, Fold> folds;
  std::map<const Group*, Replay> replays;
  for (const GroupPtr& group : groups) {
    projector.add(group);
    folds[group.get()];
    replays.emplace(group.get(), Replay(group));
  }
  for (std::size_t i = 0; i < history.commits.size(); ++i) {
    std::map<const Group*, int> ends;
    std::map<const Group*, int> documents;
    for (const CommitPart& part : history.commits[i]) {
      std::map<const Group*, std::string> streamed;
      for (const GroupEvents& events : projector.project(part).value()) {
        streamed[events.group.get()] = events.events + (events.first ? "f" : "") + (events.last ? "l" : "");
        if (events.first != (documents[events.group.get()]++ == 0)) return "first is wrong";
        ends[events.group.get()] += events.last ? 1 : 0;
        const std::string wrong = folds[events.group.get()].apply(events);
        if (!wrong.empty()) return wrong;
      }
      for (const GroupPtr& group : groups) {
        const auto events = replays.at(group.get()).project(part).value();
        const std::string replayed =
            events ? events->events + (events->first ? "f" : "") + (events->last ? "l" : "") : "";
        if (replayed != streamed[group.get()]) return "replay " + replayed + " stream " + streamed[group.get()];
      }
    }
    for (const GroupPtr& group : groups) {
      if (documents[group.get()] > 0 && ends[group.get()] != 1)
        return "a commit with " + std::to_string(ends[group.get()]) + " ends";
      const auto state = history.states[i].find(group->space());
      const Fold::Records expected =
          state == history.states[i].end() ? Fold::Records{} : evaluate_all(*group, state->second);
      if (folds[group.get()].records() != expected)
        return "the fold of " + group->view()->name + " is not the view at commit " + std::to_string(i);
    }
  }
  return {};
}

TEST(History, folding_events_equals_evaluating_the_view) {
  const std::uint64_t first = seed_from_environment();
  const int histories = std::getenv("VIEWGATE_SEED") != nullptr ? 1 : 25;
  for (int i = 0; i < histories; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    int commits = 120;
    std::string wrong = judge(Maker(seed).make(commits));
    if (wrong.empty()) continue;
    while (commits > 1) {
      const std::string shorter = judge(Maker(seed).make(commits / 2));
      if (shorter.empty()) break;
      wrong = shorter;
      commits /= 2;
    }
    FAIL() << "VIEWGATE_SEED=" << seed << " within " << commits << " commits: " << wrong;
  }
}

}  // namespace
}  // namespace viewgate::testing
