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
// Combinations of IN lists, where there are more than one; and in each path of an OR.
constexpr std::size_t combinations_max = 64;
constexpr std::size_t combinations_in_or_max = 16;

// What choosing between conjuncts goes by: about how many of the view's groups a record finds.
constexpr std::size_t cost_of_shared_value = 1'000'000;  ///< the same value for every group
constexpr std::size_t cost_of_range = 10'000;
constexpr std::size_t cost_of_half_range = 20'000;

/// An expression with the values that it must have.
struct Part {
  Expression expression;
  std::vector<std::uint64_t> keys;
};

/// All parts must hold, and the interval where there is one.
struct Path {
  std::vector<Part> parts;
  std::optional<Expression> ranged;
  std::optional<Interval> interval;
  bool is_of_caller = false;  ///< groups of one view differ in it

  [[nodiscard]] std::size_t combinations() const {
    std::size_t out = 1;
    for (const Part& each : parts) out *= each.keys.size();
    return out;
  }
};

/// One of the paths must hold; none: nothing does.
struct Choice {
  std::vector<Path> paths;
  std::size_t cost = 0;

  [[nodiscard]] bool is_of_caller() const {
    return std::any_of(paths.begin(), paths.end(), [](const Path& each) { return each.is_of_caller; });
  }
  [[nodiscard]] bool is_equality() const {
    return paths.size() == 1 && paths.front().parts.size() == 1 && !paths.front().interval;
  }
  [[nodiscard]] bool is_range() const { return paths.size() == 1 && paths.front().parts.empty(); }
};

void sort_keys(std::vector<std::uint64_t>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

bool has_value_of_caller(const Expression& expression) {
  return expression.bound || std::any_of(expression.children.begin(), expression.children.end(), has_value_of_caller);
}

/// `expression` has one of the values of `keys`.
std::optional<Choice> one_of(const Expression& expression, std::vector<std::uint64_t> keys, bool bound) {
  sort_keys(keys);
  if (keys.size() > values_max) return std::nullopt;
  Choice out;
  if (keys.empty()) return out;
  const std::size_t computed = expression.kind == Kind::column ? 0 : 1;
  out.cost = 2 * keys.size() + computed + (bound ? 0 : cost_of_shared_value);
  Path& path = out.paths.emplace_back();
  path.parts.push_back({expression, std::move(keys)});
  path.is_of_caller = bound;
  return out;
}

/// `x = constant` or `x IN (constants)`; fold has put constants on the right. NULL among them can make nothing true. Where x itself
/// holds a value of the caller each group would have a slot of its own.
std::optional<Choice> equality(const Expression& expression) {
  const bool compared = expression.kind == Kind::comparison;
  const bool listed = expression.kind == Kind::quantified && expression.any;
  if ((!compared && !listed) || expression.op != Op::eq || has_value_of_caller(expression.children.front()))
    return std::nullopt;
  std::vector<std::uint64_t> keys;
  const auto add = [&keys](const Value& value) {
    if (!is_null(value) && !is_fault(value)) keys.push_back(index_key(value));
  };
  bool bound = false;
  for (std::size_t i = 1; i < expression.children.size(); ++i) {
    const Expression& child = expression.children[i];
    if (child.kind != Kind::constant) return std::nullopt;
    bound = bound || child.bound;
    if (const auto* array = std::get_if<ArrayPtr>(&child.value)) {
      for (const Value& element : (*array)->elements) add(element);
    } else {
      add(child.value);
    }
  }
  return one_of(expression.children.front(), std::move(keys), bound);
}

/// What asks a column for NULL, true or false: `c IS NULL`, `c`, `NOT c`, `c IS [NOT] TRUE` and the like, and `c IS NOT DISTINCT FROM
/// constant`.
std::optional<Choice> test_of_column(const Expression& expression) {
  const std::uint64_t yes = index_key(Value(true)), no = index_key(Value(false));
  if (expression.kind == Kind::column && expression.type == Type::boolean && !expression.array)
    return one_of(expression, {yes}, false);
  if (expression.children.empty() || expression.children.front().kind != Kind::column) return std::nullopt;
  const Expression& column = expression.children.front();
  switch (expression.kind) {
    case Kind::logical_not:
      return one_of(column, {no}, false);
    case Kind::null_test:
      if (expression.negated) return std::nullopt;
      return one_of(column, {null_key}, false);
    case Kind::truth_test: {
      const std::uint64_t asked = expression.truth == Truth::yes ? yes : expression.truth == Truth::no ? no : null_key;
      if (!expression.negated) return one_of(column, {asked}, false);
      std::vector<std::uint64_t> others{yes, no, null_key};
      std::erase(others, asked);
      return one_of(column, std::move(others), false);
    }
    case Kind::comparison: {
      const Expression& constant = expression.children.back();
      if (expression.op != Op::not_distinct || constant.kind != Kind::constant || is_fault(constant.value))
        return std::nullopt;
      return one_of(column, {is_null(constant.value) ? null_key : index_key(constant.value)}, constant.bound);
    }
    default:
      return std::nullopt;
  }
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
  Path path;
  path.is_of_caller = expression.children[1].bound;
  path.ranged = expression.children.front();
  path.interval.emplace();
  (below ? path.interval->high : path.interval->low) = Interval::Bound{value, op == Op::lt || op == Op::gt};
  out.cost = cost_of_half_range + (path.is_of_caller ? 0 : cost_of_shared_value);
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
      Path& path = choices[i].paths.front();
      path.interval = intersection(std::move(*path.interval), std::move(*choices[j].paths.front().interval));
      path.is_of_caller = path.is_of_caller || choices[j].is_of_caller();
      const bool whole = path.interval->low && path.interval->high;
      choices[i].cost = (whole ? cost_of_range : cost_of_half_range) + (path.is_of_caller ? 0 : cost_of_shared_value);
      choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

void narrow(Path& path, const std::vector<Part>& parts, const Choice* range, std::size_t combinations) {
  for (const Part& each : parts) {
    if (path.combinations() * each.keys.size() <= combinations) path.parts.push_back(each);
  }
  if (range == nullptr || path.interval) return;
  path.ranged = range->paths.front().ranged;
  path.interval = range->paths.front().interval;
}

/// Which of the caller's values many groups share is known to nobody: a board has many readers, and a reader many boards. So
/// those that stand beside an equality of the caller narrow it, and each path of an OR, too: of columns, since an error in what
/// is computed is counted by the groups that it belongs to.
Choice narrowed(Choice best, std::vector<Choice>& others) {
  const bool is_or = best.paths.size() > 1;
  if (!best.is_of_caller() || (!best.is_equality() && !is_or)) return best;
  std::stable_sort(others.begin(), others.end(), [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
  std::vector<Part> parts;
  const Choice* range = nullptr;
  Choice* alternatives = nullptr;
  for (Choice& each : others) {
    if (!each.is_of_caller()) continue;
    if (each.is_range()) {
      if (range == nullptr) range = &each;
    } else if (each.is_equality()) {
      Part& part = each.paths.front().parts.front();
      if (part.expression.kind == Kind::column) parts.push_back(std::move(part));
    } else if (!is_or && alternatives == nullptr && each.paths.size() > 1) {
      alternatives = &each;
    }
  }
  const std::size_t enough = std::max(best.paths.front().combinations(), combinations_max);
  if (!is_or && (alternatives == nullptr || best.paths.front().combinations() > combinations_in_or_max)) {
    narrow(best.paths.front(), parts, range, enough);
    return best;
  }
  if (!is_or) {
    parts.insert(parts.begin(), std::move(best.paths.front().parts.front()));
    best.paths = std::move(alternatives->paths);
    for (Path& each : best.paths) each.is_of_caller = true;
  }
  for (Path& each : best.paths) narrow(each, parts, range, std::max(each.combinations(), combinations_in_or_max));
  return best;
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
  return narrowed(std::move(out), choices);
}

/// Every operand must have one.
std::optional<Choice> all_of(const Expression& disjunction, const RecordLayout& layout) {
  Choice out;
  for (const Expression& child : disjunction.children) {
    auto choice = choose(child, layout);
    if (!choice || out.paths.size() + choice->paths.size() > paths_max) return std::nullopt;
    out.cost += choice->cost;
    for (Path& path : choice->paths) out.paths.push_back(std::move(path));
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
  for (const auto& each : {equality, test_of_column, range}) {
    if (auto out = each(expression)) return out;
  }
  return std::nullopt;
}

/// The parts in an order that all groups of a form have in common.
AccessPath joined(Path path, const RecordLayout& layout) {
  AccessPath out;
  out.ranged = std::move(path.ranged);
  out.interval = std::move(path.interval);
  if (path.parts.size() > 1) {
    std::sort(path.parts.begin(), path.parts.end(), [&](const Part& a, const Part& b) {
      return bytes_of(a.expression, layout) < bytes_of(b.expression, layout);
    });
  }
  out.keys = path.parts.empty() ? std::vector<std::uint64_t>{no_key} : std::move(path.parts.front().keys);
  for (std::size_t i = 0; i < path.parts.size(); ++i) {
    out.expressions.push_back(std::move(path.parts[i].expression));
    if (i == 0) continue;
    std::vector<std::uint64_t> keys;
    for (const std::uint64_t before : out.keys) {
      for (const std::uint64_t next : path.parts[i].keys) keys.push_back(joined_key(before, next));
    }
    sort_keys(keys);
    out.keys = std::move(keys);
  }
  return out;
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
  std::vector<AccessPath> out;
  for (Path& each : choice->paths) out.push_back(joined(std::move(each), layout));
  return out;
}

}  // namespace viewgate::projection
