// A JSON object, member by member, as the operators' answers have them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/json_text.hpp"

namespace viewgate::gateway {

class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value) {
    append_json_string(begin(name), value);
    return *this;
  }
  /// Not there where it is empty.
  JsonObject& text_if_any(std::string_view name, std::string_view value) {
    return value.empty() ? *this : text(name, value);
  }
  JsonObject& number(std::string_view name, std::integral auto value) {
    begin(name) += std::to_string(value);
    return *this;
  }
  JsonObject& boolean(std::string_view name, bool value) {
    begin(name) += value ? "true" : "false";
    return *this;
  }
  /// `value`: the text of any JSON value.
  JsonObject& json(std::string_view name, std::string_view value) {
    begin(name) += value;
    return *this;
  }

  [[nodiscard]] std::string str() const { return text_ + '}'; }

 private:
  /// `name` needs no escapes.
  std::string& begin(std::string_view name) {
    if (text_.size() > 1) text_ += ',';
    return text_.append("\"").append(name).append("\":");
  }

  std::string text_ = "{";
};

/// `value`: of each item, the text of a JSON value.
template <class Items, class Value>
[[nodiscard]] std::string json_array(const Items& items, const Value& value) {
  std::string out = "[";
  for (const auto& each : items) {
    if (out.size() > 1) out += ',';
    out += value(each);
  }
  return out + "]";
}

}  // namespace viewgate::gateway
