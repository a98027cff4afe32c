#include "projection/sample_values.hpp"

#include <vector>

#include "projection/json_text.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::testing {
namespace {

using projection::encode_json_string;
using projection::quote_literal;

constexpr const char* small_integers[] = {"0", "1", "2", "-1", "7", "10", "-10", "32767", "-32768"};
constexpr const char* integers[] = {"0", "1", "3", "-1", "10", "100", "2147483647", "-2147483648", "40000"};
constexpr const char* large_integers[] = {
    "0", "1", "-1", "10", "9007199254740993", "9223372036854775807", "-9223372036854775808", "16777217"};
constexpr const char* decimals[] = {"0",          "1",      "1.5",
                                    "-1.5",       "2.5",    "10",
                                    "0.1",        "NaN",    "123456789.123456789",
                                    "1e30",       "-1e-20", "100",
                                    "32767.5",    "-0.5",   "9223372036854775807.5",
                                    "0.00012345", "1e-30",  "1e400",
                                    "1.10"};
constexpr const char* singles[] = {"0",        "1",      "-1",    "0.1",   "1.5",      "2.5",
                                   "16777217", "3.4e38", "1e-45", "NaN",   "Infinity", "-Infinity",
                                   "-0",       "1e-38",  "-3.5",  "32768", "1e10"};
constexpr const char* doubles[] = {"0",
                                   "1",
                                   "-1",
                                   "0.1",
                                   "1.5",
                                   "2.5",
                                   "9007199254740993",
                                   "1.7e308",
                                   "5e-324",
                                   "NaN",
                                   "Infinity",
                                   "-Infinity",
                                   "-0",
                                   "1e-300",
                                   "-3.5",
                                   "1e200",
                                   "0.30000000000000004",
                                   "9223372036854775807",
                                   "1e22"};
constexpr const char* texts[] = {"",
                                 "a",
                                 "B",
                                 "ab",
                                 "\xC3\xA9",
                                 "10",
                                 " 7 ",
                                 "-3",
                                 "1.5",
                                 "x'y",
                                 "back\\slash",
                                 "true",
                                 "f",
                                 "NaN",
                                 "99999999999",
                                 "2147483648",
                                 "1e5",
                                 "+5",
                                 "--5",
                                 "on",
                                 "aB%_c",
                                 "b",
                                 "00000000-0000-0000-0000-000000000001",
                                 "{A0EEBC99-9C0B4EF8-BB6D6BB9BD380A11}",
                                 "line\nfeed",
                                 "\xF0\x9F\x98\x80x",
                                 "\xC3\x89t\xC3\xA9",
                                 "2024-01-02",
                                 "infinity",
                                 "2024-02-30",
                                 "0044-03-15 BC",
                                 "294277-01-01",
                                 "20240102T030405.1234565Z",
                                 "2024-1-2 3:04 +0530",
                                 "Jan 8 1999",
                                 "0x1p3",
                                 "sad",
                                 "{\"a\": 1}",
                                 "[1, 2]",
                                 "ab  ",
                                 "abcabc",
                                 "a.b",
                                 "Infinity",
                                 "\\x00ff",
                                 "-0",
                                 "1e-400",
                                 "\xEF\xBD\x81"};
constexpr const char* uuids[] = {"00000000-0000-0000-0000-000000000001", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                                 "ffffffff-ffff-ffff-ffff-ffffffffffff"};
constexpr const char* dates[] = {"2024-01-02",    "2000-01-01",    "infinity",   "-infinity",  "0044-03-15 BC",
                                 "5874897-12-31", "4714-11-24 BC", "1999-12-31", "2024-02-29", "12345-06-07"};
constexpr const char* stamps[] = {"2024-01-02 03:04:05.6",
                                  "2000-01-01 00:00:00",
                                  "infinity",
                                  "-infinity",
                                  "0044-03-15 12:00:00 BC",
                                  "12345-06-07 08:09:10.123456",
                                  "2024-01-02 00:00:00",
                                  "1999-12-31 23:59:59.999999",
                                  "294276-12-31 23:59:59.999999"};
constexpr const char* bytes[] = {"\\x", "\\x00", "\\x00ff", "\\x0100", "\\x61", "\\xff"};
constexpr const char* labels[] = {"sad", "ok", "happy", "Ah, \"so\""};
constexpr const char* documents[] = {"{\"a\": 1, \"b\": [1, 2, {\"c\": null}], \"n\": 1.10}",
                                     "{\"a\": \"x\", \"bb\": {\"a\": 2}}",
                                     "[1, 2, 3]",
                                     "[]",
                                     "{}",
                                     "\"a\"",
                                     "5",
                                     "true",
                                     "[\"a\", \"b\", null]",
                                     "{\"a\": null}",
                                     "{\"a\": 1.0, \"b\": true}",
                                     "[[1, 2], {\"a\": 1}]",
                                     "{\"\": \"empty\", \"\\u00e9\": \"\\ud83d\\ude00\"}",
                                     "{\"a\": [\"x\", \"y\"], \"b\": 1e2}",
                                     "{\"a\": {\"b\": {\"c\": -0.5}}}",
                                     "[1.0, \"1\", true]",
                                     "{\"a\": \"12\", \"b\": \"t\"}",
                                     "1.00"};
constexpr const char* patterns[] = {"%",     "a%", "%b",  "_",          "a_",  "%a%b%",  "\\%",
                                    "a\\_%", "",   "__",  "%\xC3\xA9%", "AB%", "%\\\\%", "x'y",
                                    "%_",    "_%", "%%a", "1%",         "B",   "%c",     "%bc%bc"};

std::string array_text(Random& random, std::string_view element) {
  std::string out = "{";
  const int count = random.pick(4);
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ",";
    if (random.chance(15)) {
      out += "NULL";
      continue;
    }
    out += '"';
    for (const char c : sample_text(random, element)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

/// The elements of array_text's text; nothing for NULL.
std::vector<std::pair<bool, std::string>> elements_of(const std::string& text) {
  std::vector<std::pair<bool, std::string>> out;
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] == ',') continue;
    if (text[at] == 'N') {
      out.emplace_back(false, "");
      at += 3;
      continue;
    }
    std::string element;
    for (++at; text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
      element += text[at];
    }
    out.emplace_back(true, element);
  }
  return out;
}

bool is_array(std::string_view type) { return type.ends_with("[]"); }
std::string_view element_of(std::string_view type) { return type.substr(0, type.size() - 2); }

}  // namespace

std::string sample_text(Random& random, std::string_view type) {
  if (is_array(type)) return array_text(random, element_of(type));
  if (type == "bool") return random.chance(50) ? "true" : "false";
  if (type == "int2") return random.one_of(small_integers);
  if (type == "int4") return random.chance(20) ? std::to_string(random.pick(50) - 25) : random.one_of(integers);
  if (type == "int8") return random.one_of(large_integers);
  if (type == "numeric") {
    if (random.chance(70)) return random.one_of(decimals);
    return std::to_string(random.pick(2000) - 1000) + "." + std::to_string(random.pick(1000));
  }
  if (type == "float4") return random.one_of(singles);
  if (type == "float8") return random.one_of(doubles);
  if (type == "uuid") return random.one_of(uuids);
  if (type == "date") return random.one_of(dates);
  if (type == "timestamp" || type == "timestamptz") {
    std::string out = random.one_of(stamps);
    if (type == "timestamptz" && out.find("inf") == std::string::npos) {
      const bool bc = out.ends_with(" BC");
      if (bc) out.resize(out.size() - 3);
      out += "+00";
      if (bc) out += " BC";
    }
    return out;
  }
  if (type == "bytea") return random.one_of(bytes);
  if (type == "public.mood") return random.one_of(labels);
  if (type == "jsonb") return random.one_of(documents);
  if (type == "bpchar") {
    std::string out = random.one_of(texts);
    return out.size() > 6 ? "ab " : out;
  }
  if (random.chance(80)) return random.one_of(texts);
  std::string out;
  for (int i = random.pick(6); i > 0; --i) out += random.one_of({"a", "B", "c", "\xC3\xA9", " ", "1", "%", "_", "-"});
  return out;
}

std::string sample_literal(std::string_view type, const std::string& text) {
  if (!is_array(type)) return "(" + quote_literal(text) + "::" + std::string(type) + ")";
  std::string out = "(array[";
  for (const auto& [present, element] : elements_of(text)) {
    out += (out.ends_with("[") ? "" : ", ") + (present ? quote_literal(element) : std::string("null"));
  }
  return out + "]::" + std::string(type) + ")";
}

std::string sample_json(std::string_view type, const std::string& text) {
  if (is_array(type)) {
    std::string out = "[";
    for (const auto& [present, element] : elements_of(text)) {
      out += (out.size() > 1 ? "," : "") + (present ? sample_json(element_of(type), element) : std::string("null"));
    }
    return out + "]";
  }
  const bool number =
      type == "int2" || type == "int4" || type == "int8" || type == "numeric" || type.starts_with("float");
  const bool plain = text.find_first_of("NI") == std::string::npos && text != "-0";
  if (type == "bool" || type == "jsonb" || (number && plain)) return text;
  return encode_json_string(text);
}

std::string sample_pattern(Random& random) { return random.one_of(patterns); }

std::string sample_moment(Random& random) {
  static constexpr const char* moments[] = {"2024-01-02 03:04:05.6+05:30",
                                            "infinity",
                                            "-infinity",
                                            "0044-03-15 BC",
                                            "2024-02-30",
                                            "2024-01-01T00:00:00Z",
                                            "294276-12-31 23:59:59.999999+00",
                                            "294277-01-01",
                                            "4714-11-24 00:00:00+00 BC",
                                            "2024-01-02 24:00:00",
                                            " 2000-01-01 12:00 ",
                                            "5874897-12-31",
                                            "2024-01-02 03:04:60",
                                            "2024-01-02T23:59:59.9999999Z",
                                            "2024-01-02 03:04:05.1234565",
                                            "2024-01-02 03:04:05.123456789012-0730",
                                            "2024-01-02 23:59:60.5",
                                            "20240102",
                                            "20240230",
                                            "20240102T030405.5+0530",
                                            "2024-1-2 3:04 +0530",
                                            "2024-002",
                                            "2024-01-02 03:04 UTC",
                                            "-Infinity",
                                            "44-03-15 bc",
                                            "0044-3-15 bc",
                                            "1999-12-31"};
  return random.one_of(moments);
}

std::string sample_row(Random& random) {
  static constexpr const char* types[] = {"int2",      "int4",        "int8",   "numeric",     "float4", "float8",
                                          "text",      "text",        "bpchar", "bool",        "uuid",   "date",
                                          "timestamp", "timestamptz", "bytea",  "public.mood", "jsonb",  "text[]",
                                          "int4[]",    "int4",        "text"};
  std::string out = "'s1'";
  for (const char* type : types) {
    out += ", " + (random.chance(15) ? std::string("null") : sample_literal(type, sample_text(random, type)));
  }
  return out;
}

std::pair<std::string, std::string> sample_column(Random& random, std::string_view type) {
  static constexpr std::pair<std::string_view, const char*> columns[] = {
      {"int2", "i2"},      {"int4", "i4"},        {"int8", "i8"}, {"numeric", "n"}, {"float4", "f4"},
      {"float8", "f8"},    {"bpchar", "ch"},      {"bool", "b"},  {"uuid", "u"},    {"date", "d"},
      {"timestamp", "ts"}, {"timestamptz", "tz"}, {"bytea", "y"}, {"jsonb", "j"},   {"public.mood", "e"},
      {"text[]", "st"},    {"int4[]", "it"}};
  std::string name;
  if (type == "text") name = random.chance(60) ? "s" : random.chance(70) ? "vc" : "r";
  if (type == "int4" && random.chance(30)) name = random.chance(50) ? "id" : "t";
  for (const auto& [each, column] : columns) {
    if (name.empty() && each == type) name = column;
  }
  // A record's text does not tell a jsonb null from NULL; docs/views.md says that it is NULL.
  std::string sql = type == "jsonb" ? "nullif(t.j, 'null'::jsonb)" : "t." + name;
  return {std::move(name), std::move(sql)};
}

}  // namespace viewgate::testing
