// The log: one event a line on stderr, as `event=… field=…` text or as JSON. Values are escaped and cut, so that no
// input can forge a line or fill a disk; tokens, cursors, record values and claims are never passed here. Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace viewgate::gateway::log {

enum class Level : std::uint8_t { debug, info, warn, error };
enum class Format : std::uint8_t { text, json };

inline constexpr std::size_t value_bytes_max = 400;

/// `value` is text; numbers are printed by the constructor. A field without a name is left out.
struct Field {
  Field(std::string_view field_name, std::string_view text) : name(field_name), value(text) {}
  Field(std::string_view field_name, const std::string& text) : name(field_name), value(text) {}
  Field(std::string_view field_name, const char* text) : name(field_name), value(text) {}
  template <class Number>
  requires std::is_integral_v<Number> Field(std::string_view field_name, Number number)
      : name(field_name), value(std::to_string(number)) {}

  std::string_view name;
  std::string value;
};

/// Before the first event; without it info and above are written as text.
void start(Level level, Format format);
void set_level(Level level);
[[nodiscard]] bool enabled(Level level);

void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});

inline void debug(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::debug, event, fields);
}
inline void info(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::info, event, fields);
}
inline void warn(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::warn, event, fields);
}
inline void error(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::error, event, fields);
}

/// The line of an event, without its end; what `write` hands on. For tests.
[[nodiscard]] std::string line(Format format, std::string_view event, std::initializer_list<Field> fields);

/// With time, level and its end, in the form that is in force: for what the log says of itself.
[[nodiscard]] std::string whole_line(Level level, std::string_view event, std::initializer_list<Field> fields);

[[nodiscard]] Level level_of(std::string_view name);  ///< of the configuration; info where the name is none
[[nodiscard]] Format format_of(std::string_view name);

}  // namespace viewgate::gateway::log
