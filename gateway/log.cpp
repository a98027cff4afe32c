#include "gateway/log.hpp"

#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <memory>

#include "gateway/log_sink.hpp"

namespace viewgate::gateway::log {
namespace {

std::atomic<Format> format_in_force{Format::text};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto out = std::make_shared<spdlog::logger>("viewgate", stderr_sink());
    out->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return out;
  }();
  return *instance;
}

void append_escaped(std::string& out, std::string_view value) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (const char c : value.substr(0, value_bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // As a JSON escape, so that a line is ASCII, whatever encoding the value has; a byte above 0x7f is shown as
      // itself.
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 0xf];
    } else {
      out += c;
    }
  }
  out += value.size() > value_bytes_max ? "...\"" : "\"";
}

/// Words and numbers need no quotes; that keeps a line readable.
bool is_plain(std::string_view value) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-+";
  return !value.empty() && value.size() <= value_bytes_max && value.find_first_not_of(plain) == std::string_view::npos;
}

}  // namespace

void start(Level level, Format format) {
  format_in_force = format;
  set_level(level);
  if (format == Format::json) {
    logger().set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})", spdlog::pattern_time_type::utc);
  }
}

void set_level(Level level) { logger().set_level(spdlog_level(level)); }

bool enabled(Level level) { return logger().should_log(spdlog_level(level)); }

std::string line(Format format, std::string_view event, std::initializer_list<Field> fields) {
  std::string out;
  if (format == Format::json) {
    out = R"("event":)";
    append_escaped(out, event);
    for (const auto& field : fields) {
      if (field.name.empty()) continue;
      out += ',';
      append_escaped(out, field.name);
      out += ':';
      append_escaped(out, field.value);
    }
    return out;
  }
  out = event;
  for (const auto& field : fields) {
    if (field.name.empty()) continue;
    out += ' ';
    out += field.name;
    out += '=';
    if (is_plain(field.value)) {
      out += field.value;
    } else {
      append_escaped(out, field.value);
    }
  }
  return out;
}

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!enabled(level)) return;
  // The line is an argument and not the format: braces in a value mean nothing.
  logger().log(spdlog_level(level), "{}", line(format_in_force, event, fields));
}

Level level_of(std::string_view name) {
  if (name == "debug") return Level::debug;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  return Level::info;
}

Format format_of(std::string_view name) { return name == "json" ? Format::json : Format::text; }

}  // namespace viewgate::gateway::log
