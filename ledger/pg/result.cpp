#include "ledger/pg/result.hpp"

#include <libpq-fe.h>

#include <charconv>

#include "ledger/error.hpp"

namespace viewgate::ledger::pg {

void ResultDeleter::operator()(pg_result* result) const noexcept { PQclear(result); }

bool Row::is_null(int column) const { return PQgetisnull(result_, row_, column) != 0; }

std::string_view Row::text(int column) const {
  const char* value = PQgetvalue(result_, row_, column);
  if (!value) throw Failure(Error{errc::rejected, "", "a result has no column number " + std::to_string(column)});
  return {value, static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

std::optional<std::string> Row::optional_string(int column) const {
  if (is_null(column)) return std::nullopt;
  return string(column);
}

std::int64_t Row::integer(int column) const {
  const std::string_view digits = text(column);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size()) {
    throw Failure(
        Error{errc::rejected, "",
              std::string("column ") + PQfname(result_, column) + " is not an integer: '" + std::string(digits) + "'"});
  }
  return value;
}

std::optional<std::int64_t> Row::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

bool Row::boolean(int column) const { return text(column) == "t"; }

int Rows::size() const { return result_ ? PQntuples(result_.get()) : 0; }

namespace {

void add_element(std::string& array, std::string_view value) {
  array += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') array += '\\';
    array += c;
  }
  array += '"';
}

}  // namespace

std::string array_text(const std::vector<std::string>& values) {
  std::string out = "{";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    add_element(out, value);
  }
  return out += '}';
}

std::string array_text(const std::vector<std::optional<std::string>>& values) {
  std::string out = "{";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    if (value) {
      add_element(out, *value);
    } else {
      out += "NULL";
    }
  }
  return out += '}';
}

std::vector<std::string> texts_of(std::string_view array) {
  std::vector<std::string> out;
  std::size_t at = 1;
  while (at + 1 < array.size()) {
    std::string value;
    const bool is_quoted = array[at] == '"';
    if (is_quoted) ++at;
    while (at < array.size() && array[at] != (is_quoted ? '"' : ',') && (is_quoted || array[at] != '}')) {
      if (array[at] == '\\' && at + 1 < array.size()) ++at;
      value += array[at++];
    }
    out.push_back(!is_quoted && value == "NULL" ? std::string() : std::move(value));
    at += is_quoted ? 2 : 1;
  }
  return out;
}

std::string array_text(const std::vector<std::int64_t>& values) {
  std::string out = "{";
  for (const std::int64_t value : values) {
    if (out.size() > 1) out += ',';
    out += std::to_string(value);
  }
  return out += '}';
}

}  // namespace viewgate::ledger::pg
