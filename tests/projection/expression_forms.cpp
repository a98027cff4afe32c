// The language as templates: what the differential tests make their expressions of.
#include <algorithm>

#include "projection/expression_maker.hpp"

namespace viewgate::testing {
namespace {

const std::vector<std::string> numbers{"int2", "int4", "int8", "numeric", "float4", "float8"};
const std::vector<std::string> moments{"date", "timestamp", "timestamptz"};
const std::vector<std::string> others{"text", "bpchar", "bool", "uuid", "bytea", "public.mood", "jsonb"};
const std::vector<std::string> comparisons{"=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"};

bool is_text(const std::string& type) { return type == "text" || type == "bpchar"; }
bool is_float(const std::string& type) { return type.starts_with("float"); }

/// Texts compare by the C collation in the model.
std::string collated(const std::string& type) { return is_text(type) ? "$1 collate \"C\"" : "$1"; }

/// Pairs of types that compare.
std::vector<std::pair<std::string, std::string>> pairs() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto* family : {&numbers, &moments}) {
    for (const std::string& a : *family) {
      for (const std::string& b : *family) out.emplace_back(a, b);
    }
  }
  for (int weight = 0; weight < 5; ++weight) {
    for (const std::string& a : others) out.emplace_back(a, a);
  }
  return out;
}

std::string wider(const std::string& a, const std::string& b) {
  if (a != b && (is_float(a) || is_float(b))) return "float8";
  const auto place = [](const std::string& type) { return std::find(numbers.begin(), numbers.end(), type); };
  return std::max(place(a), place(b)) == place(a) ? a : b;
}

class Builder {
 public:
  FormsByType build() {
    compare();
    list();
    logic();
    rows();
    texts();
    documents();
    arrays();
    arithmetic();
    casts();
    choices();
    return std::move(out_);
  }

 private:
  /// Forms that are added from here on are one kind of their result's type.
  void begin(const std::string& result) { out_[result].emplace_back(); }
  void add(const std::string& result, const std::string& model, const std::string& sql,
           std::vector<std::string> arguments, bool lazy = false) {
    out_[result].back().push_back({result, model, sql, std::move(arguments), lazy});
  }
  void same(const std::string& result, const std::string& text, std::vector<std::string> arguments, bool lazy = false) {
    add(result, text, text, std::move(arguments), lazy);
  }

  void compare() {
    for (const bool typed : {true, false}) {
      begin("bool");
      for (const auto& [a, b] : pairs()) {
        for (const std::string& op : comparisons) {
          if (a == "jsonb" && op.find_first_of("<>") != std::string::npos && op != "<>") continue;
          if (!typed && a != b) continue;
          add("bool", "($1 " + op + " $2)", "(" + collated(a) + " " + op + " $2)", {a, (typed ? "" : "~") + b});
        }
      }
    }
    begin("bool");
    for (const auto& [a, b] : pairs()) {
      if (a == "jsonb") continue;
      for (const char* word : {"between", "not between"}) {
        const std::string tail = std::string(" ") + word + " $2 and $3)";
        add("bool", "($1" + tail, "(" + collated(a) + tail, {a, b, "~" + a}, true);
      }
    }
  }

  void list() {
    begin("bool");
    for (const auto& [a, b] : pairs()) {
      for (const char* word : {"in", "not in"}) {
        const std::string one = std::string(" ") + word + " ($2))";
        const std::string three = std::string(" ") + word + " ($2, $3, $4))";
        add("bool", "($1" + one, "(" + collated(a) + one, {a, b}, true);
        add("bool", "($1" + three, "(" + collated(a) + three, {a, b, a, "~" + a}, true);
      }
    }
    begin("bool");
    for (const std::string& type : scalar_types()) {
      if (type == "jsonb") continue;
      for (const char* op : {"=", "<>", "<", ">="}) {
        for (const char* word : {"any", "all"}) {
          const std::string tail = std::string(" ") + op + " " + word + "($2))";
          add("bool", "($1" + tail, "(" + collated(type) + tail, {type, type + "[]"}, true);
        }
      }
    }
    begin("bool");
    same("bool", "($1 = any($2))", {"int8", "int4[]"}, true);
    same("bool", "($1 <> all($2))", {"numeric", "int4[]"}, true);
    same("bool", "($1 = any($2))", {"float4", "int4[]"}, true);
    same("bool", "($1 = any(array[$2, $3, null]))", {"int8", "int4", "int8"}, true);
    same("bool", "($1 <> all(array[$2, $3]))", {"public.mood", "public.mood", "public.mood"}, true);
  }

  void logic() {
    for (int weight = 0; weight < 2; ++weight) {
      begin("bool");
      same("bool", "($1 and $2)", {"bool", "bool"}, true);
      same("bool", "($1 or $2)", {"bool", "bool"}, true);
      same("bool", "($1 and $2 and $3)", {"bool", "bool", "bool"}, true);
      same("bool", "(not $1)", {"bool"});
    }
    begin("bool");
    for (const std::string& type : scalar_types()) {
      same("bool", "($1 is null)", {type});
      same("bool", "($1 is not null)", {type});
    }
    begin("bool");
    for (const char* test : {"true", "false", "unknown", "not true", "not false", "not unknown"}) {
      same("bool", std::string("($1 is ") + test + ")", {"bool"});
    }
  }

  void rows() {
    begin("bool");
    for (const char* op : {"=", "<>", "<", "<=", ">", ">="}) {
      const std::string tail = std::string(" ") + op + " ($3, $4))";
      same("bool", "(($1, $2)" + tail, {"int4", "numeric", "int8", "~numeric"}, true);
      same("bool", "(($1, $2)" + tail, {"date", "bool", "timestamp", "bool"}, true);
      add("bool", "(($1, $2)" + tail, "(($1 collate \"C\", $2)" + tail, {"text", "public.mood", "text", "public.mood"},
          true);
    }
    same("bool", "(($1, $2) in (($3, $4), (1, 2)))", {"int4", "int8", "int2", "int4"}, true);
    same("bool", "(($1, $2) not in (($3, $4), (1, null)))", {"int4", "int8", "int2", "int4"}, true);
    same("bool", "(($1, $2, $3) < ($4, $5, $6))", {"bool", "float8", "uuid", "bool", "numeric", "uuid"}, true);
    same("bool", "(($1, $2) >= ($3, $4))", {"bpchar", "timestamptz", "bpchar", "date"}, true);
  }

  void texts() {
    begin("bool");
    for (const char* word : {"like", "not like", "ilike", "not ilike"}) {
      const std::string tail = std::string(" ") + word + " $2)";
      add("bool", "($1" + tail, "($1 collate \"C\"" + tail, {"text", "pattern"});
      add("bool", "($1" + tail, "($1 collate \"C\"" + tail, {"text", "text"});
    }
    add("bool", "starts_with($1, $2)", "starts_with($1 collate \"C\", $2)", {"text", "text"});
    add("bool", "($1 ^@ $2)", "($1 collate \"C\" ^@ $2)", {"text", "text"});
    begin("bool");
    for (const char* pattern : {"a",         "^a",
                                "b$",        "a.c",
                                "^(ab|c)+$", "[a-c]{2}",
                                "[^a]",      "\\d",
                                "\\w+\\s",   "^\\S*$",
                                "x?'",       "\xC3\xA9",
                                "^.$",       "[0-9]+(\\.[0-9]+)?",
                                "a|B",       "(?:bc){2}",
                                "[]%_]",     "\\.",
                                "^$|ab",     "[\xC3\xA9\x61]",
                                "\\D",       "\\W"}) {
      for (const char* op : {"~", "~*", "!~", "!~*"}) {
        const std::string quoted = std::string(" ") + op + " '" + escaped(pattern) + "')";
        add("bool", "($1" + quoted, "($1 collate \"C\"" + quoted, {"text"});
      }
    }
    begin("text");
    add("text", "lower($1)", "lower($1 collate \"C\")", {"text"});
    add("text", "upper($1)", "upper($1 collate \"C\")", {"text"});
    same("text", "($1 || $2)", {"text", "text"});
    same("text", "($1 || $2)", {"bpchar", "text"});
    same("text", "left($1, $2)", {"text", "int4"});
    same("text", "right($1, $2)", {"text", "int2"});
    same("text", "substr($1, $2)", {"text", "int4"});
    same("text", "substring($1 from $2 for $3)", {"text", "int4", "int4"});
    same("text", "btrim($1)", {"text"});
    same("text", "ltrim($1, $2)", {"text", "text"});
    same("text", "trim(trailing $2 from $1)", {"text", "text"});
    add("text", "lower($1::text)", "lower($1::text collate \"C\")", {"bpchar"});
    begin("int4");
    same("int4", "length($1)", {"text"});
    same("int4", "length($1)", {"bpchar"});
    same("int4", "octet_length($1)", {"text"});
    add("int4", "strpos($1, $2)", "strpos($1 collate \"C\", $2)", {"text", "text"});
    add("int4", "position($2 in $1)", "position($2 in ($1 collate \"C\"))", {"text", "text"});
  }

  void documents() {
    begin("bool");
    same("bool", "($1 @> $2)", {"jsonb", "jsonb"});
    same("bool", "($1 <@ $2)", {"jsonb", "jsonb"});
    same("bool", "($1 ? $2)", {"jsonb", "text"});
    same("bool", "($1 ?| $2)", {"jsonb", "text[]"});
    same("bool", "($1 ?& $2)", {"jsonb", "text[]"});
    same("bool", "($1 @> '{\"a\": 1}')", {"jsonb"});
    begin("jsonb");
    same("jsonb", "($1 -> $2)", {"jsonb", "text"});
    same("jsonb", "($1 -> 'a')", {"jsonb"});
    same("jsonb", "($1 -> $2)", {"jsonb", "int4"});
    same("jsonb", "($1 -> 1)", {"jsonb"});
    begin("text");
    same("text", "($1 ->> 'a')", {"jsonb"});
    same("text", "($1 ->> $2)", {"jsonb", "text"});
    same("text", "($1 ->> -1)", {"jsonb"});
    same("text", "jsonb_typeof($1)", {"jsonb"});
  }

  void arrays() {
    begin("bool");
    for (const char* type : {"text[]", "int4[]"}) {
      same("bool", "($1 @> $2)", {type, type});
      same("bool", "($1 <@ $2)", {type, type});
      same("bool", "($1 && $2)", {type, type});
    }
    add("bool", "($1 @> array[$2, $3]::text[])", "($1 @> array[$2 collate \"C\", $3]::text[])",
        {"text[]", "text", "text"});
    same("bool", "($1 && array[$2, 3])", {"int4[]", "int4"});
    same("bool", "(array[$1, null, $2] @> $3)", {"int4", "int4", "int4[]"});
    same("bool", "($1 <@ array[1, null, $2])", {"int4[]", "int4"});
    begin("int4");
    same("int4", "cardinality($1)", {"text[]"});
    same("int4", "cardinality($1)", {"int4[]"});
  }

  void arithmetic() {
    for (const std::string& a : numbers) {
      begin(a);
      same(a, "(- $1)", {a});
      same(a, "abs($1)", {a});
    }
    for (const std::string& a : numbers) begin(a);
    for (const std::string& a : numbers) {
      for (const std::string& b : numbers) {
        for (const char* op : {"+", "-", "*", "/", "%"}) {
          const std::string result = wider(a, b);
          if (*op == '%' && is_float(result)) continue;
          same(result, std::string("($1 ") + op + " $2)", {a, b});
        }
      }
    }
    begin("date");
    same("date", "($1 + $2)", {"date", "int4"});
    same("date", "($1 - $2)", {"date", "int2"});
    same("date", "($2 + $1)", {"date", "int4"});
    begin("int4");
    same("int4", "($1 - $2)", {"date", "date"});
  }

  void cast_among(const std::vector<std::string>& from, const std::vector<std::string>& to, bool lazy = false) {
    for (const std::string& a : from) {
      for (const std::string& b : to) {
        if (a != b) same(b, "($1::" + b + ")", {a}, lazy);
      }
    }
  }

  void casts() {
    for (const std::string& type : scalar_types()) begin(type);
    cast_among(numbers, numbers);
    cast_among(moments, moments);
    // Words that depend on the day or the settings are PostgreSQL's alone, and so are its looser forms of dates: any text
    // as a date is an error here, or what it is there.
    cast_among({"moment"}, moments);
    cast_among({"text"}, moments, true);
    cast_among({"text"},
               {"int2", "int4", "int8", "numeric", "float4", "float8", "bool", "uuid", "public.mood", "jsonb"});
    cast_among({"int2", "int4", "int8", "numeric", "bool", "uuid", "date", "timestamp", "timestamptz", "bytea",
                "bpchar", "public.mood", "jsonb"},
               {"text"});
    cast_among({"jsonb"}, {"int2", "int4", "int8", "numeric", "float8", "bool"});
    same("int4", "($1::int4)", {"bool"});
    same("bool", "($1::bool)", {"int4"});
    std::erase_if(out_["bool"], [](const auto& kind) { return kind.empty(); });
    for (auto& [type, kinds] : out_) std::erase_if(kinds, [](const auto& kind) { return kind.empty(); });
  }

  void choices() {
    for (const std::string& type : scalar_types()) {
      begin(type);
      same(type, "coalesce($1, $2)", {type, type});
      same(type, "coalesce($1, $2, $3)", {type, type, "~" + type});
      same(type, "case when $1 then $2 else $3 end", {"bool", type, type});
      same(type, "case $1 when 1 then $2 when $3 then $4 end", {"int4", type, "int8", type});
      if (type == "jsonb") continue;
      add(type, "nullif($1, $2)", "nullif(" + collated(type) + ", $2)", {type, type});
      add(type, "greatest($1, $2)", "greatest(" + collated(type) + ", $2)", {type, type});
      add(type, "least($1, $2, $3)", "least(" + collated(type) + ", $2, $3)", {type, type, "~" + type});
    }
    begin("float4");
    same("float4", "coalesce($1, $2)", {"float4", "numeric"});
    same("float4", "case when $1 then $2 else $3 end", {"bool", "int4", "float4"});
    begin("numeric");
    same("numeric", "greatest($1, $2)", {"int8", "numeric"});
    begin("timestamptz");
    same("timestamptz", "coalesce($1, $2)", {"date", "timestamptz"});
  }

  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out;
  }

  FormsByType out_;
};

}  // namespace

const std::vector<std::string>& scalar_types() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out = numbers;
    out.insert(out.end(), moments.begin(), moments.end());
    out.insert(out.end(), others.begin(), others.end());
    return out;
  }();
  return all;
}

const FormsByType& forms() {
  static const FormsByType all = Builder().build();
  return all;
}

}  // namespace viewgate::testing
