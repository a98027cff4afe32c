// The head of one HTTP request, taken apart and checked for what every request must be, whatever it asks for: read in one
// way only, also by the proxies in between. Pure; Beast does the parsing and stays in the .cpp file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace viewgate::gateway {

/// `text` is constant, it quotes nothing of the request (which may hold a token), so it can be logged as it is.
struct HttpRefused {
  int status = 400;
  std::string_view text;
};

class HttpHead {
 public:
  std::string method;
  std::string target;                                       ///< as it came: no decoding, no collapsing
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in lower case

  /// Fields are asked for in lower case.
  [[nodiscard]] std::size_t count(std::string_view field) const;
  /// Empty where the field is not there exactly once.
  [[nodiscard]] std::string_view only(std::string_view field) const;
  /// Whether one of the comma-separated tokens of all fields of that name is `token`, without regard to case.
  [[nodiscard]] bool names_token(std::string_view field, std::string_view token) const;
  /// A body is announced, be it of no bytes known.
  [[nodiscard]] bool has_body() const;
  /// Of its body, 0 without one. Absent: it comes in chunks, or its length is not a number.
  [[nodiscard]] std::optional<std::size_t> content_length() const;
  /// The credential of "Authorization: Bearer …" (RFC 6750); empty without one.
  [[nodiscard]] std::string_view bearer() const;
};

/// `head`: complete, with its empty line. Refused: not well-formed, over 8192 bytes, not HTTP/1.1, a folded field, no or two
/// Host.
[[nodiscard]] std::variant<HttpHead, HttpRefused> parse_http_head(std::string_view head);

}  // namespace viewgate::gateway
