#include "projection/explain.hpp"

#include <algorithm>

#include "projection/column_value.hpp"
#include "projection/expression_text.hpp"
#include "projection/jsonb.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;

// What is printed of a value and of a condition: an answer for people stays readable and bounded.
constexpr std::size_t value_bytes_max = 500;
constexpr std::size_t condition_bytes_max = 500;

std::string shortened(std::string text) {
  if (text.size() <= condition_bytes_max) return text;
  std::size_t end = condition_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "…";
}

std::string shortened_json(std::string_view json) {
  if (json.size() <= value_bytes_max) return std::string(json);
  return "{\"left_out_bytes\":" + std::to_string(json.size()) + "}";
}

std::string_view spelt(Fault fault) {
  switch (fault) {
    case Fault::out_of_range:
      return "out of range";
    case Fault::division_by_zero:
      return "division by zero";
    case Fault::invalid_text:
      return "a text that is not of the type";
    case Fault::invalid_argument:
      return "an argument that cannot be computed";
    case Fault::invalid_claim:
      return "a claim of another shape";
    case Fault::malformed_value:
      return "a value that is not of the column's type";
    case Fault::condition:
      break;
  }
  return {};
}

/// The first operand, innermost first, that is an error of its own.
std::string fault_of(const Expression& filled, const Record& record) {
  for (const Expression& child : filled.children) {
    if (std::string inner = fault_of(child, record); !inner.empty()) return inner;
  }
  const Value value = evaluate(filled, record);
  const auto* fault = std::get_if<Fault>(&value);
  return fault == nullptr ? std::string() : std::string(spelt(*fault));
}

bool is_junction(const Expression& expression) {
  return expression.kind == Kind::logical_and || expression.kind == Kind::logical_or ||
         expression.kind == Kind::logical_not;
}

/// Which operands make an AND (`neutral` yes) or an OR (no) what it is: all where each had to be neutral, else those that are
/// it. An OR that is unknown needed one more to be true, whether false or unknown now.
void mark(std::vector<Verdict>& pieces, Truth value, Truth neutral) {
  const bool all = value == neutral || (neutral == Truth::no && value == Truth::unknown);
  for (Verdict& piece : pieces) piece.decides = all || piece.value == value;
}

/// What lies under a piece that does not decide does not either.
void settle(Verdict& verdict) {
  for (Verdict& piece : verdict.pieces) {
    piece.decides = piece.decides && verdict.decides;
    settle(piece);
  }
}

/// Evaluates pieces of the conditions of one view for one record.
class Judge {
 public:
  Judge(const RecordLayout& layout, const BoundValues& values, const Record& record)
      : layout_(layout), values_(values), record_(record) {}

  [[nodiscard]] Verdict verdict(const Expression& condition, std::string origin = {}) const {
    return verdict(condition, values_.fill(condition), std::move(origin));
  }

  /// The operands of an AND, one by one.
  void append_conjuncts(std::vector<Verdict>& out, const Expression& condition, const std::string& origin) const {
    if (condition.kind != Kind::logical_and) {
      out.push_back(verdict(condition, origin));
      return;
    }
    for (const Expression& child : condition.children) append_conjuncts(out, child, origin);
  }

  /// An entry of the select list that has no value.
  [[nodiscard]] std::optional<Verdict> missing(const SelectedColumn& selected) const {
    if (selected.column || !is_fault(evaluate(selected.expression, record_))) return std::nullopt;
    return verdict(selected.expression, selected.expression, "select list, as " + selected.name);
  }

 private:
  [[nodiscard]] Verdict verdict(const Expression& condition, const Expression& filled, std::string origin) const {
    Verdict out;
    out.origin = std::move(origin);
    out.condition = shortened(text_of(condition, layout_));
    if (std::string bound = shortened(text_of(filled, layout_)); bound != out.condition) out.bound = std::move(bound);
    out.value = is_fault(evaluate(filled, record_)) ? Truth::error : evaluate_truth(filled, record_);
    if (is_junction(condition)) {
      for (std::size_t i = 0; i < condition.children.size(); ++i) {
        out.pieces.push_back(verdict(condition.children[i], filled.children[i], {}));
      }
      const bool conjunction = condition.kind == Kind::logical_and;
      if (condition.kind == Kind::logical_not) {
        out.pieces.front().decides = true;
      } else {
        mark(out.pieces, out.value, conjunction ? Truth::yes : Truth::no);
      }
      return out;
    }
    if (out.value == Truth::error) out.fault = fault_of(filled, record_);
    std::vector<std::size_t> columns;
    collect_columns(condition, columns);
    for (const std::size_t column : columns) {
      out.reads.emplace_back(layout_.column(column).name, shortened_json(record_.slice(column)));
    }
    return out;
  }

  const RecordLayout& layout_;
  const BoundValues& values_;
  const Record& record_;
};

void append_deciding(std::vector<const Verdict*>& out, const std::vector<Verdict>& verdicts) {
  for (const Verdict& verdict : verdicts) {
    if (!verdict.pieces.empty()) {
      append_deciding(out, verdict.pieces);
    } else {
      out.push_back(&verdict);
    }
  }
}

/// All innermost pieces: as many, and in the same order, for every record, but for what the select list misses at the end.
std::vector<const Verdict*> innermost(const std::vector<Verdict>& verdicts) {
  std::vector<const Verdict*> out;
  append_deciding(out, verdicts);
  return out;
}

/// The policies of a view or table as one: any of them.
Verdict any_of(std::vector<Verdict> policies, std::string origin) {
  Verdict out;
  out.origin = std::move(origin);
  out.condition = "one of the policies";
  out.value = Truth::no;
  for (const Verdict& policy : policies) out.value = truth_or(out.value, policy.value);
  mark(policies, out.value, Truth::no);
  out.pieces = std::move(policies);
  return out;
}

/// WHERE as the view has it: the policies of the table were joined to it.
const Expression& where_of(const View& view) {
  return view.table->policies.empty() ? view.predicate : view.predicate.children.front();
}

bool is_absent(const Expression& where) {
  return where.kind == Kind::constant && evaluate_truth(where, Record{}) == Truth::yes;
}

std::string key_form(const Table& table) {
  std::string out = "a record is named by a JSON array of its key: [";
  for (const std::size_t column : table.primary_key) {
    if (out.back() != '[') out += ", ";
    out.append(table.layout.column(column).name).append(" ").append(table.type_names[column]);
  }
  return out + "], as it stands in events";
}

}  // namespace

std::string_view name(Truth truth) {
  switch (truth) {
    case Truth::no:
      return "false";
    case Truth::yes:
      return "true";
    case Truth::unknown:
      return "null";
    case Truth::error:
      break;
  }
  return "error";
}

std::vector<Verdict> deciding(const std::vector<Verdict>& verdicts) {
  std::vector<Verdict> out;
  for (const Verdict* each : innermost(verdicts)) {
    if (each->decides) out.push_back(*each);
  }
  return out;
}

std::vector<Verdict> what_changed(const std::vector<Verdict>& earlier, const std::vector<Verdict>& now) {
  const auto before = innermost(earlier);
  const auto after = innermost(now);
  std::vector<Verdict> out;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool is_new = i >= before.size() || before[i]->value != after[i]->value;
    if (after[i]->decides && is_new) out.push_back(*after[i]);
  }
  return out.empty() ? deciding(now) : out;
}

Explainer::Explainer(BoundValues values, const Binding& binding)
    : values_(std::move(values)), group_(binding.group), admitted_(binding.admitted) {
  const View& view = *group_->view();
  const Record none;
  const Judge judge(view.table->layout, values_, none);
  for (const Policy& policy : view.policies) {
    admission_.push_back(judge.verdict(policy.predicate, "policy " + policy.name + " on " + view.name));
  }
  Verdict all = any_of(std::move(admission_), {});
  all.decides = true;
  settle(all);
  admission_ = std::move(all.pieces);
}

Result<Explainer> Explainer::make(const ViewPtr& view, std::string_view parameters, std::string_view claims,
                                  std::string_view space) {
  const auto binding = bind(view, parameters, claims, space);
  if (!binding) return binding.error();
  auto values = BoundValues::make(*view, parameters, claims, space);
  if (!values) return values.error();
  return Explainer(std::move(*values), *binding);
}

Result<Judgement> Explainer::judge(std::string_view text) const {
  const View& view = *group_->view();
  const Table& table = *view.table;
  const auto record = Record::parse(table.layout, text);
  if (!record) return Error{errc::malformed_record, table.collection, "a record that is not a JSON object of to_jsonb"};
  Judgement out;
  out.inside = group_->includes(*record);
  const Judge judge(table.layout, values_, *record);
  if (const Expression& where = where_of(view); !is_absent(where)) judge.append_conjuncts(out.verdicts, where, "where");
  std::vector<Verdict> policies;
  for (const Policy& policy : table.policies) {
    policies.push_back(judge.verdict(policy.predicate, "policy " + policy.name + " on " + table.name));
  }
  if (policies.size() == 1) out.verdicts.push_back(std::move(policies.front()));
  if (policies.size() > 1) out.verdicts.push_back(any_of(std::move(policies), "policies on " + table.name));
  Truth all = Truth::yes;
  for (const Verdict& verdict : out.verdicts) all = truth_and(all, verdict.value);
  if (all == Truth::yes && !out.inside) {
    for (const SelectedColumn& selected : view.columns) {
      if (auto missing = judge.missing(selected)) out.verdicts.push_back(std::move(*missing));
    }
    all = Truth::error;
  }
  mark(out.verdicts, all, Truth::yes);
  for (Verdict& verdict : out.verdicts) settle(verdict);
  return out;
}

std::optional<std::string> append_key(std::string& out, const Table& table, std::string_view given) {
  const auto wrong = [&table](const std::string& why) { return why + "; " + key_form(table); };
  const auto json = valid_utf8(given) ? parse_json(given) : std::nullopt;
  if (!json || json->kind != Json::Kind::array) return wrong("the key is not a JSON array");
  if (json->items.size() != table.primary_key.size()) {
    return wrong("the key has " + std::to_string(json->items.size()) + " values");
  }
  for (std::size_t i = 0; i < json->items.size(); ++i) {
    const std::size_t column = table.primary_key[i];
    const std::string& name = table.layout.column(column).name;
    const Json& value = json->items[i];
    out += i == 0 ? "[" : ", ";
    if (value.kind == Json::Kind::null) return wrong(name + " is null, which no key is");
    if (is_writable(table, column)) {
      if (const auto fault = append_column_value(out, table, column, value, ValueLimits{}))
        return wrong(name + " " + *fault);
    } else if (const auto text = print_jsonb(value)) {
      out += *text;
    } else {
      return wrong(name + " is not what jsonb can hold");
    }
  }
  out += ']';
  return std::nullopt;
}

}  // namespace viewgate::projection
