#include "gateway/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "gateway/log_sink.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway::log {
namespace {

constexpr const char* logger_name = "viewgate";

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

std::string pattern_of(Format format) {
  return format == Format::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto out = std::make_shared<spdlog::logger>(logger_name, stderr_sink());
    out->set_pattern(pattern_of(Format::text), spdlog::pattern_time_type::utc);
    return out;
  }();
  return *instance;
}

void append_unit(std::string& out, unsigned unit) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += hex[(unit >> shift) & 0xf];
}

/// The bytes of the character that the text begins with; 0 where that is none of UTF-8.
std::size_t character_bytes(std::string_view text) {
  for (std::size_t bytes = 2; bytes <= std::min<std::size_t>(4, text.size()); ++bytes) {
    if (is_utf8(text.substr(0, bytes))) return bytes;
  }
  return 0;
}

/// Of up to three bytes.
unsigned code_point(std::string_view character) {
  unsigned out = static_cast<unsigned char>(character.front()) & (character.size() == 2 ? 0x1fU : 0x0fU);
  for (const char each : character.substr(1)) out = out << 6 | (static_cast<unsigned char>(each) & 0x3fU);
  return out;
}

/// Controls of C1, and what hides text, breaks lines or turns the direction of what stands around it.
bool is_shown(unsigned point) {
  return point > 0x9f && !(point >= 0x200b && point <= 0x200f) && !(point >= 0x2028 && point <= 0x202e) &&
         !(point >= 0x2066 && point <= 0x2069) && point != 0xfeff;
}

/// A character that is none of ASCII, in JSON: as it is, where it can be shown.
std::size_t append_character(std::string& out, std::string_view text) {
  const std::size_t bytes = character_bytes(text);
  const std::string_view character = text.substr(0, bytes);
  if (bytes == 0) {
    out += "\\ufffd";
    return 1;
  }
  if (bytes == 4 || is_shown(code_point(character))) {
    out += character;
  } else {
    append_unit(out, code_point(character));
  }
  return bytes;
}

/// With the escapes of JSON. A line of text is ASCII, whatever encoding the value has: each byte above 0x7f is shown for itself, as
/// \u00e9. In JSON that would be another character, so there UTF-8 is left as it is, and what is none of it becomes U+FFFD.
void append_escaped(std::string& out, std::string_view value, Format format) {
  out += '"';
  const std::string_view shown = utf8_prefix(value, value_bytes_max);
  for (std::size_t i = 0; i < shown.size();) {
    const char c = shown[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x7f && format == Format::json) {
      i += append_character(out, shown.substr(i));
      continue;
    }
    ++i;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      append_unit(out, byte);
    } else {
      out += c;
    }
  }
  out += shown.size() < value.size() ? "...\"" : "\"";
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
  logger().set_pattern(pattern_of(format), spdlog::pattern_time_type::utc);
}

void set_level(Level level) { logger().set_level(spdlog_level(level)); }

bool enabled(Level level) { return logger().should_log(spdlog_level(level)); }

std::string line(Format format, std::string_view event, std::initializer_list<Field> fields) {
  std::string out;
  if (format == Format::json) {
    out = R"("event":)";
    append_escaped(out, event, format);
    for (const auto& field : fields) {
      if (field.name.empty()) continue;
      out += ',';
      append_escaped(out, field.name, format);
      out += ':';
      append_escaped(out, field.value, format);
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
      append_escaped(out, field.value, format);
    }
  }
  return out;
}

std::string whole_line(Level level, std::string_view event, std::initializer_list<Field> fields) {
  const Format format = format_in_force;
  const std::string text = line(format, event, fields);
  spdlog::pattern_formatter formatter(pattern_of(format), spdlog::pattern_time_type::utc);
  spdlog::memory_buf_t out;
  formatter.format(spdlog::details::log_msg(logger_name, spdlog_level(level), text), out);
  return {out.data(), out.size()};
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
