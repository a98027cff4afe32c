#include "projection/expression_maker.hpp"

#include <algorithm>

#include "projection/json_text.hpp"
#include "projection/numeric.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::testing {
namespace {

using projection::encode_json_string;
using projection::Numeric;
using projection::quote_literal;

/// What the leaves of one question share.
struct Members {
  std::string params;
  std::string claims;
  int count = 0;
};

std::string filled(const std::string& text, const std::vector<std::string>& children, const std::string& value) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == 'v') {
      out += value;
      ++i;
    } else if (text[i] == '$' && i + 1 < text.size() && text[i + 1] >= '1' && text[i + 1] <= '9') {
      out += children[static_cast<std::size_t>(text[++i] - '1')];
    } else {
      out += text[i];
    }
  }
  return out;
}

bool has_column(const Made& made) {
  return made.leaf == Made::Leaf::column || std::any_of(made.children.begin(), made.children.end(), has_column);
}

/// What an operand may make a double precision of, which not each numeric fits.
bool has_constant_numeric(const Made& made) {
  if (made.leaf != Made::Leaf::none && made.leaf != Made::Leaf::column) return made.type == "numeric";
  return std::any_of(made.children.begin(), made.children.end(), has_constant_numeric);
}

/// What is constant is computed when PostgreSQL plans, needed or not; and a choice by constants is made then, which may
/// leave a NULL for which nothing else is computed.
bool is_strict(const Made& made) {
  if (made.lazy) return false;
  const bool chooses = made.model.starts_with("coalesce") || made.model.starts_with("case");
  if (chooses && !std::all_of(made.children.begin(), made.children.end(), has_column)) return false;
  if (chooses && has_constant_numeric(made)) return false;
  if (made.leaf == Made::Leaf::none && !has_column(made)) return false;
  return std::all_of(made.children.begin(), made.children.end(), is_strict);
}

std::pair<std::string, std::string> render(const Made& made, Members& members) {
  // A leaf's text is not a template: it may have a $ of its own.
  if (made.leaf == Made::Leaf::column || made.leaf == Made::Leaf::literal) return {made.model, made.sql};
  std::string value;
  if (made.leaf != Made::Leaf::none) {
    const bool claim = made.leaf == Made::Leaf::claim;
    const std::string name = (claim ? "c" : "p") + std::to_string(members.count++);
    std::string& object = claim ? members.claims : members.params;
    if (!made.json.empty()) object += (object.empty() ? "" : ", ") + encode_json_string(name) + ": " + made.json;
    value = (claim ? "claims." : "params.") + name;
    return {filled(made.model, {}, value), made.sql};
  }
  std::vector<std::string> models;
  std::vector<std::string> sqls;
  for (const Made& child : made.children) {
    auto [model, sql] = render(child, members);
    models.push_back(std::move(model));
    sqls.push_back(std::move(sql));
  }
  return {filled(made.model, models, value), filled(made.sql, sqls, value)};
}

}  // namespace

Question render(const Made& made) {
  Members members;
  Question out;
  std::tie(out.model, out.sql) = render(made, members);
  out.type = made.type;
  out.params = "{" + members.params + "}";
  out.claims = "{" + members.claims + "}";
  out.strict = is_strict(made);
  return out;
}

Made ExpressionMaker::value() {
  caller_ = false;
  std::vector<std::string> types = scalar_types();
  std::erase(types, "bpchar");
  Made out = make(random_.one_of(types), 1 + random_.pick(3));
  caller_ = true;
  return out;
}

Made ExpressionMaker::make(std::string_view type, int depth) {
  if (type == "pattern") {
    const std::string text = random_.chance(80) ? sample_pattern(random_) : sample_text(random_, "text");
    return value_leaf("text", text);
  }
  if (type == "moment") return value_leaf("text", sample_moment(random_));
  if (type.starts_with("~")) return untyped(type.substr(1));
  const auto found = forms().find(type);
  if (depth <= 0 || found == forms().end() || random_.chance(type == "bool" ? 5 : 30)) return leaf(type);
  const Form& form = random_.one_of(random_.one_of(found->second));
  Made out;
  out.type = type;
  out.model = form.model;
  out.sql = form.sql;
  out.lazy = form.lazy;
  for (const std::string& argument : form.arguments) out.children.push_back(make(argument, depth - 1));
  return out;
}

Made ExpressionMaker::leaf(std::string_view type) {
  if (random_.chance(60)) {
    Made out;
    out.type = type;
    out.leaf = Made::Leaf::column;
    std::tie(out.model, out.sql) = sample_column(random_, type);
    if (!out.model.empty()) return out;  // there are not columns of arrays of every type
  }
  if (random_.chance(8)) {
    Made out;
    out.type = type;
    out.leaf = Made::Leaf::literal;
    out.model = out.sql = "(null::" + std::string(type) + ")";
    out.lazy = true;
    return out;
  }
  return value_leaf(type, sample_text(random_, type));
}

Made ExpressionMaker::value_leaf(std::string_view type, const std::string& text) {
  Made out;
  out.type = type;
  out.sql = sample_literal(type, text);
  const int way = caller_ ? random_.pick(3) : 0;
  if (way == 0) {
    out.leaf = Made::Leaf::literal;
    out.model = out.sql;
    return out;
  }
  out.leaf = way == 1 ? Made::Leaf::parameter : Made::Leaf::claim;
  if (type == "numeric") out.sql = sample_literal(type, Numeric::parse(text)->trimmed().text());
  out.model = "$v::" + std::string(type);
  // Claims are texts as often as JSON of their own kind: `claims ->> 'x'` makes no difference.
  const bool as_text = way == 2 && type != "jsonb" && !type.ends_with("[]") && random_.chance(50);
  out.json = as_text ? encode_json_string(text) : sample_json(type, text);
  return out;
}

/// A literal, parameter or claim that nothing gives a type but what it meets.
Made ExpressionMaker::untyped(std::string_view type) {
  const std::string text = sample_text(random_, type);
  Made out;
  out.type = "~" + std::string(type);
  out.sql = quote_literal(text);
  out.leaf = caller_ && random_.chance(60) ? Made::Leaf::parameter : Made::Leaf::literal;
  out.model = out.leaf == Made::Leaf::literal ? out.sql : "$v";
  if (out.leaf == Made::Leaf::parameter) out.json = sample_json(type, text);
  if (out.leaf == Made::Leaf::parameter && type == "numeric")
    out.sql = quote_literal(Numeric::parse(text)->trimmed().text());
  return out;
}

std::vector<Made> ExpressionMaker::smaller(const Made& made) {
  std::vector<Made> out;
  for (const Made& child : made.children) {
    if (child.type == made.type) out.push_back(child);
  }
  for (std::size_t i = 0; i < made.children.size(); ++i) {
    for (Made& child : smaller(made.children[i])) {
      out.push_back(made);
      out.back().children[i] = std::move(child);
    }
  }
  return out;
}

}  // namespace viewgate::testing
