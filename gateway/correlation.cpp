#include "gateway/correlation.hpp"

#include <algorithm>
#include <cstdint>
#include <random>

#include "gateway/json_text.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::size_t id_bytes_max = 64;
constexpr std::string_view trace_member = "traceparent";

// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01: version, trace, the caller's part of it, flags.
constexpr std::size_t traceparent_bytes = 55;
constexpr std::size_t trace_begin = 3;
constexpr std::size_t trace_digits = 32;
constexpr std::size_t parent_begin = 36;
constexpr std::size_t parent_digits = 16;
constexpr std::size_t flags_begin = 53;

bool is_hex(std::string_view text) { return text.find_first_not_of(hex_digits) == std::string_view::npos; }

/// An id of zeros alone means that there is none.
bool is_trace_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

bool is_in_id(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

log::Field Correlation::trace_field() const {
  if (traceparent.empty()) return {"", ""};
  return {"trace", std::string_view(traceparent).substr(trace_begin, trace_digits)};
}

Correlation new_correlation() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  Correlation out;
  std::uint64_t number = random();
  constexpr std::size_t digits = 16;
  out.id.resize(digits);
  for (char& digit : out.id) {
    digit = hex_digits[number & 0xf];
    number >>= 4;
  }
  return out;
}

std::string_view given_request_id(const HttpHead& head) {
  const auto text = head.only("x-request-id");
  return text.size() <= id_bytes_max && std::ranges::all_of(text, is_in_id) ? text : std::string_view{};
}

std::string_view given_traceparent(const HttpHead& head) {
  const auto text = head.only(trace_member);
  const bool is_sound = text.size() == traceparent_bytes && text.starts_with("00-") && text[parent_begin - 1] == '-' &&
                        text[flags_begin - 1] == '-' && is_trace_id(text.substr(trace_begin, trace_digits)) &&
                        is_trace_id(text.substr(parent_begin, parent_digits)) && is_hex(text.substr(flags_begin));
  return is_sound ? text : std::string_view{};
}

std::string with_request_id(std::string response, const Correlation& who) {
  constexpr std::string_view line_end = "\r\n";
  const auto status_end = response.find(line_end);
  if (status_end == std::string::npos) return response;
  std::string field(line_end);
  field.append(request_id_header).append(": ").append(who.id);
  return response.insert(status_end, field);
}

std::string with_trace(const std::string& provenance, const Correlation& who) {
  if (who.traceparent.empty()) return provenance;
  JsonSlicer members(provenance);
  bool has_members = false;
  while (const auto member = members.next()) {
    has_members = true;
    if (json_unescape_lossless(member->name) == trace_member) return provenance;
  }
  std::string out = "{\"";
  out.append(trace_member).append("\":\"").append(who.traceparent).append(has_members ? "\"," : "\"");
  return out + provenance.substr(provenance.find('{') + 1);
}

}  // namespace viewgate::gateway
