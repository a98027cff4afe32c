#include "projection/expression_text.hpp"

#include <map>
#include <set>

#include "projection/pushdown.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

std::string_view spelt(Op op) {
  static constexpr std::string_view names[] = {
      "=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from", "+", "-", "*", "/", "%"};
  return names[static_cast<std::size_t>(op)];
}

/// The operators among the functions; empty: a function by name.
std::string_view operator_of(const Expression& expression) {
  switch (expression.function) {
    case Function::matches:
      return expression.name;
    case Function::array_contains:
    case Function::json_contains:
      return "@>";
    case Function::array_overlaps:
      return "&&";
    case Function::concat:
    case Function::like:
    case Function::ilike:
    case Function::json_get:
    case Function::json_get_text:
    case Function::json_has:
    case Function::json_has_any:
    case Function::json_has_all:
      return name(expression.function);
    default:
      return {};
  }
}

class Printer {
 public:
  explicit Printer(const RecordLayout& layout) : layout_(layout) {}

  [[nodiscard]] std::string whole(const Expression& expression) const {
    const auto& children = expression.children;
    switch (expression.kind) {
      case Kind::logical_and:
      case Kind::logical_or:
        return joined(expression, expression.kind == Kind::logical_and ? " and " : " or ", 0);
      case Kind::logical_not:
        return "not " + part(children[0]);
      case Kind::comparison:
      case Kind::arithmetic:
        return part(children[0]) + " " + std::string(spelt(expression.op)) + " " + part(children[1]);
      case Kind::quantified:
        return part(children[0]) + " " + std::string(spelt(expression.op)) + (expression.any ? " any (" : " all (") +
               joined(expression, ", ", 1) + ")";
      case Kind::null_test:
        return part(children[0]) + (expression.negated ? " is not null" : " is null");
      case Kind::truth_test:
        return part(children[0]) + (expression.negated ? " is not " : " is ") +
               (expression.truth == Truth::yes  ? "true"
                : expression.truth == Truth::no ? "false"
                                                : "unknown");
      case Kind::call:
        if (const auto op = operator_of(expression); !op.empty())
          return part(children[0]) + " " + std::string(op) + " " + part(children[1]);
        break;
      default:
        break;
    }
    return part(expression);
  }

 private:
  /// In brackets where it is more than one word.
  [[nodiscard]] std::string part(const Expression& expression) const {
    const auto& children = expression.children;
    switch (expression.kind) {
      case Kind::constant:
        return constant(expression);
      case Kind::column:
        return layout_.column(static_cast<std::size_t>(expression.index)).name;
      case Kind::parameter:
        return "params." + expression.name;
      case Kind::claim:
        return "claims." + expression.name;
      case Kind::space_name:
        return "space.name";
      case Kind::slot:
        return "$" + std::to_string(expression.index + 1);
      case Kind::cast:
        return part(children[0]) + "::" + projection::spelt(expression.full_type());
      case Kind::negation:
        return "-" + part(children[0]);
      case Kind::list:
        return "array[" + joined(expression, ", ", 0) + "]";
      case Kind::conditional:
        return conditional(expression);
      case Kind::call:
        if (operator_of(expression).empty())
          return std::string(name(expression.function)) + "(" + joined(expression, ", ", 0) + ")";
        break;
      default:
        break;
    }
    return "(" + whole(expression) + ")";
  }

  [[nodiscard]] std::string joined(const Expression& expression, std::string_view joint, std::size_t from) const {
    std::string out;
    for (std::size_t i = from; i < expression.children.size(); ++i) {
      if (i > from) out += joint;
      out += part(expression.children[i]);
    }
    return out;
  }

  [[nodiscard]] std::string conditional(const Expression& expression) const {
    std::string out = "case";
    for (std::size_t i = 0; i + 1 < expression.children.size(); i += 2) {
      out += " when " + whole(expression.children[i]) + " then " + part(expression.children[i + 1]);
    }
    return out + " else " + part(expression.children.back()) + " end";
  }

  static std::string constant(const Expression& expression) {
    if (is_null(expression.value)) return "null";
    if (is_fault(expression.value)) return "(an error)";
    if (const auto* array = std::get_if<ArrayPtr>(&expression.value)) {
      std::string out = "array[";
      for (const Value& element : (*array)->elements) {
        if (out.back() != '[') out += ", ";
        out += constant(make_constant(FullType(expression.type, false, expression.labels), element));
      }
      return out + "]";
    }
    std::string text = print_text(expression.type, expression.value);
    if (expression.type == Type::boolean || is_number(expression.type)) return text;
    std::string out = quote_literal(text);
    if (out.front() == ' ') out.erase(0, 1);
    return out;
  }

  const RecordLayout& layout_;
};

using ClaimTypes = std::map<std::string, std::set<std::string>>;

void collect_claims(const Expression& expression, ClaimTypes& out) {
  if (expression.kind == Kind::claim) out[expression.name].insert(spelt(expression.full_type()));
  for (const Expression& child : expression.children) collect_claims(child, out);
}

std::string spelt_claims(const View& view) {
  ClaimTypes claims;
  collect_claims(view.predicate, claims);
  for (const Policy& policy : view.policies) collect_claims(policy.predicate, claims);
  std::string out;
  for (const auto& [claim, types] : claims) {
    out += (out.empty() ? "" : ", ") + claim;
    for (const std::string& type : types) out += (type == *types.begin() ? " " : " and ") + type;
  }
  return out;
}

void append_line(std::string& out, std::string_view title, const std::string& text) {
  out.append("  ").append(title).append(text.empty() ? "none" : text).append("\n");
}

void append_policies(std::string& out, std::string_view title, const std::vector<Policy>& policies,
                     const RecordLayout& layout) {
  for (const Policy& policy : policies) {
    append_line(out, title, "policy " + policy.name + " where " + text_of(policy.predicate, layout));
  }
}

}  // namespace

std::string text_of(const Expression& expression, const RecordLayout& layout) {
  return Printer(layout).whole(expression);
}

std::string report(const Model& model) {
  std::string out;
  for (const auto& [name, view] : model.views) {
    const Table& table = *view->table;
    out.append("view ").append(name).append(" over ").append(table.collection).append("\n");
    std::string shown;
    for (const SelectedColumn& selected : view->columns) {
      if (!shown.empty()) shown += ", ";
      const std::string source =
          selected.column ? table.layout.column(*selected.column).name : text_of(selected.expression, table.layout);
      shown += source == selected.name ? source : source + " as " + selected.name;
    }
    append_line(out, "shows       ", shown);
    std::string parameters;
    for (const Parameter& parameter : view->parameters) {
      parameters += (parameters.empty() ? "" : ", ") + parameter.name + " " + spelt(parameter.type);
    }
    append_line(out, "parameters  ", parameters);
    append_line(out, "claims      ", spelt_claims(*view));
    if (view->policies.empty()) append_line(out, "admits      ", "nobody: no policy is on it");
    append_policies(out, "admits      ", view->policies, table.layout);
    append_policies(out, "limited by  ", table.policies, table.layout);
  }
  return out;
}

}  // namespace viewgate::projection
