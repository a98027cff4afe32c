#include "loadtest/run_report.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "loadtest/slices.hpp"

namespace viewgate::loadtest {

namespace {

constexpr std::size_t wrong_shown = 20;

std::string decimal(double value, int digits) {
  char out[64];
  std::snprintf(out, sizeof(out), "%.*f", digits, value);
  return out;
}

std::string figure_lines(const Figures& figures) {
  std::string out;
  for (const auto& [name, value] : figures) {
    char line[128];
    std::snprintf(line, sizeof(line), "  %-36s %14.3f\n", name.c_str(), value);
    out += line;
  }
  return out;
}

std::string members_of(const Figures& figures) {
  std::string out;
  for (const auto& [name, value] : figures) out += "," + loadtest::quoted(name) + ":" + decimal(value, 3);
  return out;
}

std::string point_json(const TimelinePoint& point) {
  std::string out = "{\"at\":" + decimal(point.at, 2) + ",\"step\":" + std::to_string(point.step);
  return out +
         members_of({{"commits", point.commits},
                     {"deliveries", point.deliveries},
                     {"p50_ms", point.p50},
                     {"p99_ms", point.p99},
                     {"max_ms", point.max},
                     {"server_cpu_percent", point.server_cpu},
                     {"client_cpu_percent", point.client_cpu},
                     {"server_mb", point.server_mb},
                     {"waiting", point.waiting},
                     {"under_way", point.under_way}}) +
         "}";
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path.string() + ": cannot be written");
}

}  // namespace

std::string text_of(const RunReport& report) {
  std::string out = report.name + ": " + report.about + "\n";
  if (report.refused.empty()) {
    out += figure_lines(report.figures);
    for (const RunReport::Step& step : report.steps) out += " " + step.name + "\n" + figure_lines(step.figures);
  } else {
    out += "  no figures: " + report.refused + "\n";
  }
  out += "  " + std::to_string(report.sets_compared) + " sets compared with their queries (" +
         std::to_string(report.records_compared) + " records)\n";
  for (std::size_t i = 0; i < report.wrong.size() && i < wrong_shown; ++i) out += "  WRONG: " + report.wrong[i] + "\n";
  if (report.wrong.size() > wrong_shown)
    out += "  WRONG: " + std::to_string(report.wrong.size()) + " findings in all\n";
  return out;
}

std::string json_of(const RunReport& report) {
  std::string out = "{\"bench\":" + loadtest::quoted(report.name);
  out += std::string(",\"right\":") + (report.wrong.empty() ? "true" : "false");
  out += ",\"sets_compared\":" + std::to_string(report.sets_compared);
  out += ",\"records_compared\":" + std::to_string(report.records_compared);
  if (!report.refused.empty()) {
    out += ",\"refused\":" + loadtest::quoted(report.refused);
  } else {
    out += members_of(report.figures) + ",\"steps\":[";
    for (const RunReport::Step& step : report.steps) {
      out += (out.back() == '[' ? "" : ",") + ("{\"step\":" + loadtest::quoted(step.name)) + members_of(step.figures) +
             "}";
    }
    out += "]";
  }
  if (!report.wrong.empty()) {
    out += ",\"wrong\":[";
    for (const std::string& what : report.wrong) out += (out.back() == '[' ? "" : ",") + loadtest::quoted(what);
    out += "]";
  }
  return out + "}";
}

void write_report(const RunReport& report, const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  std::string json = json_of(report);
  if (report.refused.empty()) {
    json.back() = ',';
    json += "\"timeline\":[";
    for (const TimelinePoint& point : report.points) json += (json.back() == '[' ? "" : ",") + point_json(point);
    json += "]}";
  }
  const std::filesystem::path into(directory);
  write_file(into / "report.txt", text_of(report));
  write_file(into / "report.json", json + "\n");
  write_file(into / "report.html", html_of(report));
}

}  // namespace viewgate::loadtest
