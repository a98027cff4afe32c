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

// What choosing between conjuncts goes by: about how many of the view's groups a record finds.
constexpr std::size_t cost_of_shared_value = 1'000'000;  ///< the same value for every group
constexpr std::size_t cost_of_range = 10'000;
constexpr std::size_t cost_of_half_range = 20'000;

struct Choice {
  std::vector<AccessPath> paths;
  std::size_t cost = 0;
};

void add_value(AccessPath& path, const Value& value) {
  if (!is_null(value) && !is_fault(value)) path.values.push_back(index_key(value));
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
  std::sort(path.values.begin(), path.values.end());
  path.values.erase(std::unique(path.values.begin(), path.values.end()), path.values.end());
  if (path.values.size() > values_max) return std::nullopt;
  Choice out;
  if (path.values.empty()) return out;
  path.expression = expression.children.front();
  const std::size_t computed = path.expression.kind == Kind::column ? 0 : 1;
  out.cost = 2 * path.values.size() + computed + (bound ? 0 : cost_of_shared_value);
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
  path.expression = expression.children.front();
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

bool is_range(const Choice& choice) { return choice.paths.size() == 1 && choice.paths.front().interval.has_value(); }

/// Two ranges of one expression are one interval.
void join_ranges(std::vector<Choice>& choices, const RecordLayout& layout) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = i + 1; j < choices.size();) {
      const bool same = is_range(choices[i]) && is_range(choices[j]) &&
                        bytes_of(choices[i].paths.front().expression, layout) ==
                            bytes_of(choices[j].paths.front().expression, layout);
      if (!same) {
        ++j;
        continue;
      }
      AccessPath& path = choices[i].paths.front();
      path.interval = intersection(std::move(*path.interval), std::move(*choices[j].paths.front().interval));
      const bool whole = path.interval->low && path.interval->high;
      choices[i].cost = std::min({choices[i].cost, choices[j].cost, whole ? cost_of_range : cost_of_half_range});
      choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

/// The conjunct that finds the fewest.
std::optional<Choice> best_of(const Expression& conjunction, const RecordLayout& layout) {
  std::vector<Choice> choices;
  for (const Expression& child : conjunction.children) {
    if (auto choice = choose(child, layout)) choices.push_back(std::move(*choice));
  }
  join_ranges(choices, layout);
  const auto best = std::min_element(choices.begin(), choices.end(),
                                     [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
  if (best == choices.end()) return std::nullopt;
  return std::move(*best);
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

std::optional<std::vector<AccessPath>> access_paths(const Expression& predicate, const RecordLayout& layout) {
  auto choice = choose(predicate, layout);
  if (!choice) return std::nullopt;
  return std::move(choice->paths);
}

}  // namespace viewgate::projection
