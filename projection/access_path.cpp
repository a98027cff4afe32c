#include "projection/access_path.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

// A group under more entries than this costs more there than it saves.
constexpr std::size_t paths_max = 64;
constexpr std::size_t values_max = 20'000;
// Combinations of IN lists, where there are more than one.
constexpr std::size_t combinations_max = 64;

// What choosing between conjuncts goes by: about how many of the view's groups a record finds.
constexpr std::size_t cost_of_shared_value = 1'000'000;  ///< the same value for every group
constexpr std::size_t cost_of_range = 10'000;
constexpr std::size_t cost_of_half_range = 20'000;

struct Choice {
  std::vector<AccessPath> paths;
  std::size_t cost = 0;

  [[nodiscard]] bool is_of_caller() const { return cost < cost_of_shared_value; }
  [[nodiscard]] bool is_equality() const { return paths.size() == 1 && !paths.front().interval; }
  [[nodiscard]] bool is_range() const { return paths.size() == 1 && paths.front().expressions.empty(); }
};

void add_value(AccessPath& path, const Value& value) {
  if (!is_null(value) && !is_fault(value)) path.keys.push_back(index_key(value));
}

void sort_keys(std::vector<std::uint64_t>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

/// `x = constant` or `x IN (constants)`; fold has put constants on the right. NULL among them can make nothing true.
std::optional<Choice> equality(const Expression& expression) {
  const bool compared = expression.kind == Kind::comparison;
  const bool listed = expression.kind == Kind::quantified && expression.any;
  if ((!compared && !listed) || expression.op != Op::eq) return std::nullopt;
  AccessPath path;
  bool bound = false;
  for (std::size_t i = 1; i < expression.children.size(); ++i) {
    const Expression& child = expression.children[i];
    if (child.kind != Kind::constant) return std::nullopt;
    bound = bound || child.bound;
    if (const auto* array = std::get_if<ArrayPtr>(&child.value)) {
      for (const Value& element : (*array)->elements) add_value(path, element);
    } else {
      add_value(path, child.value);
    }
  }
  sort_keys(path.keys);
  if (path.keys.size() > values_max) return std::nullopt;
  Choice out;
  if (path.keys.empty()) return out;
  path.expressions.push_back(expression.children.front());
  const std::size_t computed = path.expressions.front().kind == Kind::column ? 0 : 1;
  out.cost = 2 * path.keys.size() + computed + (bound ? 0 : cost_of_shared_value);
  out.paths.push_back(std::move(path));
  return out;
}

/// `column < constant` and the like. Not of what is computed: an error there is counted by the groups that it belongs to.
std::optional<Choice> range(const Expression& expression) {
  if (expression.kind != Kind::comparison || expression.children[0].kind != Kind::column ||
      expression.children[1].kind != Kind::constant)
    return std::nullopt;
  const Op op = expression.op;
  const bool below = op == Op::lt || op == Op::le;
  const bool above = op == Op::gt || op == Op::ge;
  if (!below && !above) return std::nullopt;
  const Value& value = expression.children[1].value;
  Choice out;
  if (is_null(value) || is_fault(value)) return out;
  AccessPath path;
  path.keys.push_back(no_key);
  path.ranged = expression.children.front();
  path.interval.emplace();
  (below ? path.interval->high : path.interval->low) = Interval::Bound{value, op == Op::lt || op == Op::gt};
  out.cost = cost_of_half_range + (expression.children[1].bound ? 0 : cost_of_shared_value);
  out.paths.push_back(std::move(path));
  return out;
}

std::optional<Choice> choose(const Expression& expression, const RecordLayout& layout);

std::string bytes_of(const Expression& expression, const RecordLayout& layout) {
  std::string out;
  append_canonical(out, expression, layout);
  return out;
}

/// Two ranges of one expression are one interval.
void join_ranges(std::vector<Choice>& choices, const RecordLayout& layout) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = i + 1; j < choices.size();) {
      const bool same =
          choices[i].is_range() && choices[j].is_range() &&
          bytes_of(*choices[i].paths.front().ranged, layout) == bytes_of(*choices[j].paths.front().ranged, layout);
      if (!same) {
        ++j;
        continue;
      }
      AccessPath& path = choices[i].paths.front();
      path.interval = intersection(std::move(*path.interval), std::move(*choices[j].paths.front().interval));
      const bool whole = path.interval->low && path.interval->high;
      const bool shared = !choices[i].is_of_caller() && !choices[j].is_of_caller();
      choices[i].cost = (whole ? cost_of_range : cost_of_half_range) + (shared ? cost_of_shared_value : 0);
      choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

/// The equalities as one, in an order that all groups of a form have in common.
AccessPath joined(std::vector<AccessPath> parts, const RecordLayout& layout) {
  std::sort(parts.begin(), parts.end(), [&](const AccessPath& a, const AccessPath& b) {
    return bytes_of(a.expressions.front(), layout) < bytes_of(b.expressions.front(), layout);
  });
  AccessPath out = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    out.expressions.push_back(std::move(parts[i].expressions.front()));
    std::vector<std::uint64_t> keys;
    for (const std::uint64_t before : out.keys) {
      for (const std::uint64_t next : parts[i].keys) keys.push_back(joined_key(before, next));
    }
    out.keys = std::move(keys);
  }
  sort_keys(out.keys);
  return out;
}

/// Which of the caller's values many groups share is known to nobody: a board has many readers, and a reader many boards. So
/// those that stand beside an equality of the caller narrow it, too: of columns, since an error in what is computed is counted
/// by the groups that it belongs to.
void narrow(Choice& best, std::vector<Choice>& others, const RecordLayout& layout) {
  if (!best.is_equality() || best.paths.front().expressions.size() != 1 || !best.is_of_caller()) return;
  std::stable_sort(others.begin(), others.end(), [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
  std::vector<AccessPath> parts;
  std::size_t combinations = best.paths.front().keys.size();
  const std::size_t enough = std::max(combinations, combinations_max);
  parts.push_back(std::move(best.paths.front()));
  AccessPath* range = nullptr;
  for (Choice& each : others) {
    if (!each.is_of_caller() || each.paths.size() != 1) continue;
    AccessPath& path = each.paths.front();
    if (each.is_range()) {
      if (range == nullptr) range = &path;
    } else if (each.is_equality() && path.expressions.size() == 1 && path.expressions.front().kind == Kind::column &&
               combinations * path.keys.size() <= enough) {
      combinations *= path.keys.size();
      parts.push_back(std::move(path));
    }
  }
  const bool is_one = parts.size() == 1;
  best.paths.front() = is_one ? std::move(parts.front()) : joined(std::move(parts), layout);
  if (range == nullptr) return;
  best.paths.front().ranged = std::move(range->ranged);
  best.paths.front().interval = std::move(range->interval);
}

/// The conjunct that finds the fewest, and what narrows it.
std::optional<Choice> best_of(const Expression& conjunction, const RecordLayout& layout) {
  std::vector<Choice> choices;
  for (const Expression& child : conjunction.children) {
    if (auto choice = choose(child, layout)) choices.push_back(std::move(*choice));
  }
  join_ranges(choices, layout);
  const auto best = std::min_element(choices.begin(), choices.end(),
                                     [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
  if (best == choices.end()) return std::nullopt;
  Choice out = std::move(*best);
  choices.erase(best);
  narrow(out, choices, layout);
  return out;
}

/// Every operand must have one.
std::optional<Choice> all_of(const Expression& disjunction, const RecordLayout& layout) {
  Choice out;
  for (const Expression& child : disjunction.children) {
    auto choice = choose(child, layout);
    if (!choice || out.paths.size() + choice->paths.size() > paths_max) return std::nullopt;
    out.cost += choice->cost;
    for (AccessPath& path : choice->paths) out.paths.push_back(std::move(path));
  }
  return out;
}

std::optional<Choice> choose(const Expression& expression, const RecordLayout& layout) {
  switch (expression.kind) {
    case Kind::logical_and:
      return best_of(expression, layout);
    case Kind::logical_or:
      return all_of(expression, layout);
    case Kind::constant:
      // Only true holds; NULL, false and an error never do.
      if (const auto* boolean = std::get_if<bool>(&expression.value); boolean != nullptr && *boolean)
        return std::nullopt;
      return Choice{};
    default:
      break;
  }
  auto out = equality(expression);
  return out ? out : range(expression);
}

}  // namespace

std::uint64_t index_key(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::hash<std::int64_t>{}(*integer);
  if (const auto* text = std::get_if<std::string>(&value)) return std::hash<std::string>{}(*text);
  // The canonical form of a numeric that is an integer is the integer's, so its key must be, too.
  if (const auto* numeric = std::get_if<Numeric>(&value)) {
    if (const auto exact = numeric->exact_int8()) return std::hash<std::int64_t>{}(*exact);
  }
  return std::hash<std::string>{}(canonical(value));
}

/// Integers are their own index_key, so what comes before has to be spread over all bits first (the finaliser of splitmix64).
std::uint64_t joined_key(std::uint64_t before, std::uint64_t next) {
  before += 0x9e3779b97f4a7c15;
  before = (before ^ (before >> 30U)) * 0xbf58476d1ce4e5b9;
  before = (before ^ (before >> 27U)) * 0x94d049bb133111eb;
  return (before ^ (before >> 31U)) + next;
}

std::optional<std::vector<AccessPath>> access_paths(const Expression& predicate, const RecordLayout& layout) {
  auto choice = choose(predicate, layout);
  if (!choice) return std::nullopt;
  return std::move(choice->paths);
}

}  // namespace viewgate::projection
