#include "gateway/reference.hpp"

#include <array>
#include <sstream>
#include <stdexcept>

#include "gateway/advice.hpp"
#include "gateway/config.hpp"
#include "gateway/metrics.hpp"
#include "gateway/protocol_json.hpp"
#include "gateway/tally.hpp"

namespace viewgate::gateway {
namespace {

std::string code(std::string_view text) { return text.empty() ? std::string() : "`" + std::string(text) + "`"; }

std::string row(std::initializer_list<std::string_view> cells) {
  std::string out = "|";
  for (const auto cell : cells) out.append(cell.empty() ? "" : " ").append(cell).append(" |");
  return out + "\n";
}

std::string configuration() {
  std::string out = "| key | default | allowed | changed by | meaning |\n|---|---|---|---|---|\n";
  for (const auto& setting : settings()) {
    out += row({code(setting.key), code(setting.fallback), allowed_text(setting),
                setting.reload == Reload::hangup ? "SIGHUP" : "restart", setting.text});
  }
  return out;
}

std::string exit_statuses() {
  std::string out = "| status | meaning | what to do |\n|---|---|---|\n";
  for (const auto& each : exit_meanings) {
    out += row({std::to_string(static_cast<int>(each.status)), each.meaning, advice_for(each.status)});
  }
  return out;
}

std::string closes() {
  std::string out = "| code | name | meaning | the client | the operator |\n|---|---|---|---|---|\n";
  for (const auto& each : close_codes) {
    out += row({std::to_string(each.code), code(each.name), each.meaning, client_does(each.retry),
                advice_for_close(each.code)});
  }
  return out;
}

std::string errors() {
  std::string out = "| error | meaning | the client | the operator |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < Tally::names_max && !name(static_cast<ErrorCode>(i)).empty(); ++i) {
    const auto each = static_cast<ErrorCode>(i);
    out += row({code(name(each)), constant_text(each), client_does(each), advice_for(each)});
  }
  return out;
}

std::string resets() {
  std::string out = "| reason | meaning | the operator |\n|---|---|---|\n";
  for (std::size_t i = 0; i < Tally::names_max && !name(static_cast<ResetReason>(i)).empty(); ++i) {
    const auto each = static_cast<ResetReason>(i);
    out += row({code(name(each)), meaning_of(each), advice_for(each)});
  }
  return out;
}

/// Read from what Prometheus is told, where each metric says its help and its type before its values.
std::string metrics() {
  const Tally tally;
  NodeReading reading;
  reading.reactors = {ReactorCounters{}};
  reading.tallies = {&tally};
  reading.engine.lags = {{"space", 1, std::chrono::milliseconds(1)}};
  std::stringstream lines(metrics_text(reading));
  std::string out = "| metric | type | meaning |\n|---|---|---|\n";
  constexpr std::string_view help_mark = "# HELP ";
  constexpr std::string_view type_mark = "# TYPE ";
  std::string help;
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ', help_mark.size());
    if (line.starts_with(help_mark)) help = line.substr(space + 1);
    if (line.starts_with(type_mark)) {
      out += row({code(line.substr(type_mark.size(), space - type_mark.size())), line.substr(space + 1), help});
    }
  }
  return out;
}

struct Table {
  std::string_view name;
  std::string (*text)();
};
constexpr std::array tables{Table{"configuration", configuration}, Table{"exit statuses", exit_statuses},
                            Table{"close codes", closes},          Table{"errors", errors},
                            Table{"reset reasons", resets},        Table{"metrics", metrics}};

constexpr std::string_view opening = "<!-- table: ";
constexpr std::string_view mark_end = " -->\n";
constexpr std::string_view closing = "<!-- end -->";

std::string table_named(std::string_view name) {
  for (const auto& each : tables) {
    if (each.name == name) return each.text();
  }
  throw std::invalid_argument("there is no table \"" + std::string(name) + "\"");
}

}  // namespace

std::string reference_text() {
  std::string out;
  for (const auto& each : tables) {
    out.append(out.empty() ? "## " : "\n## ").append(each.name).append("\n\n").append(each.text());
  }
  return out;
}

std::string with_tables(std::string_view document) {
  std::string out;
  for (;;) {
    const auto begin = document.find(opening);
    if (begin == std::string_view::npos) return out.append(document);
    const auto name_begin = begin + opening.size();
    const auto name_end = document.find(mark_end, name_begin);
    const auto end = name_end == std::string_view::npos ? name_end : document.find(closing, name_end);
    if (end == std::string_view::npos) throw std::invalid_argument("a table's mark has no end");
    out.append(document.substr(0, name_end)).append(mark_end);
    out += table_named(document.substr(name_begin, name_end - name_begin));
    out += closing;
    document.remove_prefix(end + closing.size());
  }
}

}  // namespace viewgate::gateway
