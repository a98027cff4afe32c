#include "projection/binding.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "projection/json_text.hpp"
#include "projection/jsonb.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;

struct BoundParameter {
  bool null = false;
  std::vector<Value> values;  ///< one, or the elements of an array
};
using BoundParameters = std::map<std::string, BoundParameter, std::less<>>;

/// What replaces parameters, claims and space.name.
struct Environment {
  const BoundParameters* parameters = nullptr;
  const Json* claims = nullptr;
  std::string_view space;
};

std::string expected(const Parameter& parameter) {
  std::string out = spelt(FullType(parameter.type.type, false, parameter.type.labels));
  switch (parameter.type.type) {
    case Type::int8:
      out += " (a whole number, or a string of one beyond 2^53)";
      break;
    case Type::numeric:
    case Type::float4:
    case Type::float8:
      out += " (a number, or a string of one)";
      break;
    case Type::enumeration:
      out += " (a string, one of its labels)";
      break;
    case Type::jsonb:
      out += " (any value that jsonb can hold)";
      break;
    case Type::boolean:
    case Type::int2:
    case Type::int4:
      break;
    default:
      out += " (a string)";
      break;
  }
  return parameter.type.array ? "an array of " + out : out;
}

/// Fewest decimals, so that 1.0 and 1.00 bind to one group also where decimals show.
Value trimmed(Value value) {
  if (const auto* numeric = std::get_if<Numeric>(&value)) return numeric->trimmed();
  return value;
}

/// From a JSON number to an integer: 1.0 and 1e2 are whole numbers, and clients cannot always tell how theirs are
/// printed.
Value whole_number(Type type, const std::string& text) {
  const auto numeric = Numeric::parse(text);
  const auto integer = numeric ? numeric->exact_int8() : std::nullopt;
  if (!integer) return numeric && numeric->scale() == 0 ? Fault::out_of_range : Fault::invalid_text;
  if (!in_range(type, *integer)) return Fault::out_of_range;
  return *integer;
}

Value jsonb_value(const Json& json) {
  auto text = print_jsonb(json);
  if (!text) return Fault::invalid_text;
  return Jsonb{std::move(*text)};
}

/// A parameter's JSON value as a value of its type. Strings stand for numbers only where JSON's own numbers lose digits
/// on their way through clients.
Value parameter_value(const FullType& full, const Json& json) {
  const Type type = full.type;
  if (type == Type::jsonb && json.kind != Json::Kind::null) return jsonb_value(json);
  switch (json.kind) {
    case Json::Kind::null:
      return Null{};
    case Json::Kind::boolean:
      return type == Type::boolean ? Value(json.text == "true") : Value(Fault::invalid_text);
    case Json::Kind::number:
      if (is_integer(type)) return whole_number(type, json.text);
      return is_number(type) ? trimmed(parse_text(full, json.text)) : Value(Fault::invalid_text);
    case Json::Kind::string:
      if (json.text.find('\0') != std::string::npos) return Fault::invalid_text;  // PostgreSQL's text cannot hold it
      if (type == Type::boolean || type == Type::int2 || type == Type::int4) return Fault::invalid_text;
      return trimmed(parse_text(full, json.text));
    case Json::Kind::array:
    case Json::Kind::object:
      break;
  }
  return Fault::invalid_text;
}

const char* article(Json::Kind kind) {
  if (kind == Json::Kind::null) return "";
  return kind == Json::Kind::array || kind == Json::Kind::object ? "an " : "a ";
}

Error wrong_parameter(const Parameter& parameter, const Json& json, Fault fault) {
  return {errc::invalid_parameter, parameter.name,
          "the parameter " + parameter.name + " is " + article(json.kind) + std::string(name(json.kind)) +
              (fault == Fault::out_of_range ? " out of the range of " : ", not ") + expected(parameter)};
}

Result<BoundParameter> bind_parameter(const Parameter& parameter, const Json& json) {
  BoundParameter out;
  const auto add = [&](const Json& value) -> std::optional<Error> {
    Value bound = parameter_value(parameter.type, value);
    if (const auto* fault = std::get_if<Fault>(&bound)) return wrong_parameter(parameter, value, *fault);
    out.values.push_back(std::move(bound));
    return std::nullopt;
  };
  if (!parameter.type.array || json.kind == Json::Kind::null) {
    out.null = json.kind == Json::Kind::null;
    if (auto error = add(json)) return std::move(*error);
    return out;
  }
  if (json.kind != Json::Kind::array) return wrong_parameter(parameter, json, Fault::invalid_text);
  for (const Json& item : json.items) {
    if (auto error = add(item)) return std::move(*error);
  }
  return out;
}

Result<BoundParameters> bind_parameters(const View& view, std::string_view text) {
  const auto json = parse_json(text);
  if (!json || json->kind != Json::Kind::object) {
    return Error{errc::invalid_parameters, {}, "the parameters are not one JSON object with different names"};
  }
  std::string known;
  for (const Parameter& parameter : view.parameters) known += (known.empty() ? "" : ", ") + parameter.name;
  for (const auto& [given, value] : json->members) {
    const bool found = std::any_of(view.parameters.begin(), view.parameters.end(),
                                   [&member = given](const Parameter& parameter) { return parameter.name == member; });
    if (found) continue;
    return Error{
        errc::unknown_parameter, given,
        "the view " + view.name + " has no parameter " + given + "; it has " + (known.empty() ? "none" : known)};
  }
  BoundParameters out;
  for (const Parameter& parameter : view.parameters) {
    const Json* value = json->find(parameter.name);
    if (value == nullptr) {
      return Error{errc::missing_parameter, parameter.name,
                   "the view " + view.name + " needs the parameter " + parameter.name + ", " + expected(parameter)};
    }
    auto bound = bind_parameter(parameter, *value);
    if (!bound) return bound.error();
    out.emplace(parameter.name, std::move(*bound));
  }
  return out;
}

std::string canonical_parameters(const View& view, const BoundParameters& bound) {
  std::string out;
  for (const Parameter& parameter : view.parameters) {
    const BoundParameter& value = bound.find(parameter.name)->second;
    append_field(out, parameter.name);
    append_field(out, spelt(FullType(parameter.type.type, false, parameter.type.labels)));
    if (!parameter.type.array || value.null) {
      append_field(out, value.null ? "null" : canonical(value.values.front()));
      continue;
    }
    // Arrays stand behind ANY, ALL, @>, && and the like only, where neither order nor repetition means anything.
    std::vector<std::string> elements;
    for (const Value& element : value.values) elements.push_back(canonical(element));
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    append_field(out, "[" + std::to_string(elements.size()));
    for (const std::string& element : elements) append_field(out, element);
  }
  return out;
}

Result<Json> parse_claims(std::string_view text) {
  auto json = parse_json(text);
  if (json && json->kind == Json::Kind::object) return std::move(*json);
  return Error{errc::invalid_claims, {}, "the claims are not one JSON object with different names"};
}

/// Scalars by meaning, arrays and objects as sets.
void append_canonical_claim(std::string& out, const Json& json) {
  append_field(out, name(json.kind));
  std::vector<std::string> parts;
  for (const Json& item : json.items) append_canonical_claim(parts.emplace_back(), item);
  for (const auto& [member, value] : json.members) {
    append_field(parts.emplace_back(), member);
    append_canonical_claim(parts.back(), value);
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  append_field(out, std::to_string(parts.size()));
  for (const std::string& part : parts) append_field(out, part);
  const auto numeric = json.kind == Json::Kind::number ? Numeric::parse(json.text) : std::nullopt;
  append_field(out, numeric ? numeric->canonical() : json.text);
}

std::string canonical_claims(const View& view, const Json& claims) {
  std::string out;
  for (const std::string& claim : view.claims) {
    append_field(out, claim);
    if (const Json* value = claims.find(claim)) {
      append_canonical_claim(out, *value);
    } else {
      append_field(out, "absent");
    }
  }
  return out;
}

/// `claims ->> 'x'`, cast to the type that the expression needs.
Value claim_value(const FullType& type, const Json& json) {
  if (type.type == Type::jsonb && json.kind != Json::Kind::null) return jsonb_value(json);
  switch (json.kind) {
    case Json::Kind::null:
      return Null{};
    case Json::Kind::number:
      if (is_integer(type.type)) return whole_number(type.type, json.text);
      return trimmed(parse_text(type, json.text));
    case Json::Kind::boolean:
    case Json::Kind::string:
      return trimmed(parse_text(type, json.text));
    case Json::Kind::array:
    case Json::Kind::object:
      break;
  }
  return Fault::invalid_claim;
}

Expression substitute(const Expression& expression, const Environment& environment);

/// A constant of the caller or the subscription.
Expression make_bound(const FullType& type, Value value) {
  Expression out = make_constant(type, std::move(value));
  out.bound = true;
  return out;
}

/// A parameter or claim that is an array: an Array, NULL, or an error. Errors of elements stay in their places.
Value array_value(const Expression& array, const Environment& environment) {
  const FullType element(array.type, false, array.labels);
  auto out = std::make_shared<Array>();
  if (array.kind == Kind::parameter) {
    const BoundParameter& given = environment.parameters->find(array.name)->second;
    if (given.null) return Null{};
    out->elements = given.values;
    return ArrayPtr(std::move(out));
  }
  const Json* claim = environment.claims->find(array.name);
  if (claim == nullptr || claim->kind == Json::Kind::null) return Null{};
  if (claim->kind != Json::Kind::array) return Fault::invalid_claim;
  for (const Json& item : claim->items) out->elements.push_back(claim_value(element, item));
  return ArrayPtr(std::move(out));
}

Expression substitute_null_test(const Expression& expression, const Environment& environment) {
  const Expression& operand = expression.children.front();
  bool null = false;
  if (operand.kind == Kind::claim && (operand.array || operand.type == Type::text)) {
    const Json* claim = environment.claims->find(operand.name);
    null = claim == nullptr || claim->kind == Json::Kind::null;
  } else if (operand.kind == Kind::parameter) {
    null = environment.parameters->find(operand.name)->second.null;
  } else {
    Expression out = expression;
    out.children.front() = substitute(operand, environment);
    return out;
  }
  return make_bound(Type::boolean, null != expression.negated);
}

Expression substitute(const Expression& expression, const Environment& environment) {
  switch (expression.kind) {
    case Kind::space_name:
      return make_bound(Type::text, std::string(environment.space));
    case Kind::parameter:
    case Kind::claim: {
      if (expression.array) return make_bound(expression.full_type(), array_value(expression, environment));
      if (expression.kind == Kind::parameter) {
        return make_bound(expression.full_type(), environment.parameters->find(expression.name)->second.values.front());
      }
      const Json* claim = environment.claims->find(expression.name);
      return make_bound(expression.full_type(),
                        claim == nullptr ? Value(Null{}) : claim_value(expression.full_type(), *claim));
    }
    case Kind::null_test:
      return substitute_null_test(expression, environment);
    default:
      break;
  }
  Expression out = expression;
  for (Expression& child : out.children) child = substitute(child, environment);
  return out;
}

bool uses_parameters(const Expression& expression) {
  return expression.kind == Kind::parameter ||
         std::any_of(expression.children.begin(), expression.children.end(), uses_parameters);
}

/// Whether the caller may hear what is wrong with the parameters, which tells which view there is and what it takes: a
/// policy that asks for no parameter admits the caller.
bool may_hear_of_parameters(const View& view, const Json& claims, std::string_view space) {
  const Environment environment{nullptr, &claims, space};
  return std::any_of(view.policies.begin(), view.policies.end(), [&](const Policy& policy) {
    if (uses_parameters(policy.predicate)) return false;
    const Expression bound = fold(substitute(policy.predicate, environment), view.table->layout);
    return evaluate_truth(bound, Record{}) == Truth::yes;
  });
}

void decide_admission(Binding& out, const Environment& environment) {
  const View& view = *out.view;
  if (view.policies.empty()) {
    out.refusal = "no policy admits anybody to the view " + view.name;
    return;
  }
  Truth admitted = Truth::no;
  for (const Policy& policy : view.policies) {
    const Expression bound = fold(substitute(policy.predicate, environment), view.table->layout);
    admitted = truth_or(admitted, evaluate_truth(bound, Record{}));
  }
  out.admitted = admitted == Truth::yes;
  if (!out.admitted) out.refusal = "no policy of the view " + view.name + " holds for the caller";
}

}  // namespace

Expression bind_condition(const Expression& condition, const Json& claims, std::string_view space,
                          const RecordLayout& layout) {
  return fold(substitute(condition, Environment{nullptr, &claims, space}), layout);
}

struct BoundValues::Values {
  BoundParameters parameters;
  Json claims;
  std::string space;
};

Result<BoundValues> BoundValues::make(const View& view, std::string_view parameters, std::string_view claims,
                                      std::string_view space) {
  auto claims_json = parse_claims(claims);
  if (!claims_json) return claims_json.error();
  auto bound = bind_parameters(view, parameters);
  if (!bound) return bound.error();
  Values values{std::move(*bound), std::move(*claims_json), std::string(space)};
  return BoundValues(std::make_shared<const Values>(std::move(values)));
}

Expression BoundValues::fill(const Expression& condition) const {
  return substitute(condition, Environment{&values_->parameters, &values_->claims, values_->space});
}

Result<Binding> bind(const ViewPtr& view, std::string_view parameters, std::string_view claims,
                     std::string_view space) {
  const auto claims_json = parse_claims(claims);
  if (!claims_json) return claims_json.error();
  auto bound = bind_parameters(*view, parameters);
  if (!bound) {
    if (may_hear_of_parameters(*view, *claims_json, space)) return bound.error();
    return Error{errc::not_admitted, view->name, "no policy admits the caller, and " + bound.error().detail};
  }
  const Environment environment{&*bound, &*claims_json, space};
  Binding out;
  out.view = view;
  out.space = space;
  out.parameters = canonical_parameters(*view, *bound);
  out.claims = canonical_claims(*view, *claims_json);
  decide_admission(out, environment);
  out.group = std::make_shared<const Group>(view, out.space,
                                            fold(substitute(view->predicate, environment), view->table->layout));
  return out;
}

Result<Binding> bind(const Model& model, std::string_view view, std::string_view parameters, std::string_view claims,
                     std::string_view space) {
  const ViewPtr found = model.view(view);
  if (!found) return Error{errc::unknown_view, std::string(view), "the model has no view " + std::string(view)};
  return bind(found, parameters, claims, space);
}

}  // namespace viewgate::projection
