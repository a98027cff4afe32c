#include "loadtest/checker.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace viewgate::loadtest {

namespace {

/// What differs between two records of one key; empty where every column is the same bytes.
std::string record_difference(const std::string& have, const std::string& want) {
  if (have == want) return {};
  std::vector<Member> left, right;
  if (!members(have, left) || !members(want, right)) return "a record is not an object: " + have + " / " + want;
  for (const Member& column : right) {
    const std::string_view value = member(left, column.name);
    if (value.empty()) return "column " + std::string(column.name) + " is missing";
    if (value != column.value) {
      return "column " + std::string(column.name) + " is " + std::string(value) + ", the query says " +
             std::string(column.value);
    }
  }
  return left.size() == right.size() ? std::string() : "it has columns that the view does not select";
}

}  // namespace

std::vector<std::string> differences(const std::string& name, const Fold::Records& records, const Fold::Records& answer,
                                     std::size_t count_max) {
  std::vector<std::string> out;
  std::size_t count = 0;
  const auto differ = [&](const std::string& key, std::string_view what, std::string_view more) {
    if (++count > count_max) return;
    std::string& line = out.emplace_back(name);
    line.append(": ").append(key).append(what).append(more);
  };
  for (const auto& [key, record] : answer) {
    const auto found = records.find(key);
    if (found == records.end()) {
      differ(key, " is missing, the query has ", record);
    } else if (const std::string what = record_difference(found->second, record); !what.empty()) {
      differ(key, ": ", what);
    }
  }
  for (const auto& [key, record] : records) {
    if (!answer.contains(key)) differ(key, " is there, the query does not have it: ", record);
  }
  if (count > count_max) out.push_back(name + ": " + std::to_string(count) + " records differ in all");
  return out;
}

const Fold::Records& Checker::answer(const Question& question) {
  const auto known = answers_.find(question);
  if (known != answers_.end()) return known->second;
  Fold::Records records;
  const Rows rows = database_->query(question.sql, question.parameters);
  records.reserve(static_cast<std::size_t>(rows.size()));
  std::vector<Member> columns;
  for (int row = 0; row < rows.size(); ++row) {
    if (!members(rows.at(row, 1), columns)) throw std::runtime_error("not a record: " + std::string(rows.at(row, 1)));
    records.emplace(key_text(rows.at(row, 0)), std::string(rows.at(row, 1)));
  }
  return answers_.emplace(question, std::move(records)).first->second;
}

std::map<std::string, std::int64_t> settled_heads(Database& database, const std::vector<std::string>& spaces) {
  for (int attempt = 0; attempt < 600; ++attempt) {
    if (database.query("select exists (select from viewgate.waiting)").at(0, 0) == "f") {
      // As one array, since there may be very many.
      std::string names = "{";
      for (const std::string& space : spaces) names += (names.size() == 1 ? "" : ",") + quoted(space);
      const Rows rows = database.query(
          "select wanted.space, coalesce(s.head, 0) from unnest($1::text[]) wanted(space) "
          "left join viewgate.spaces s on s.space = viewgate.space_key(wanted.space)",
          {names + "}"});
      std::map<std::string, std::int64_t> heads;
      for (int row = 0; row < rows.size(); ++row) heads[std::string(rows.at(row, 0))] = *integer(rows.at(row, 1));
      return heads;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error("committed changes still wait for their numbers after a minute");
}

}  // namespace viewgate::loadtest
