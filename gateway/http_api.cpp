#include "gateway/http_api.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

std::string response_head(int status, std::string_view content_type) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + ' ';
  out.append(phrase(status)).append("\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Type: ");
  return out.append(content_type).append("\r\n");
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (!is_utf8(out) || out.find('\0') != std::string::npos) return std::nullopt;
  return out;
}

std::optional<QueryItems> parse_query(std::string_view query) {
  QueryItems out;
  while (!query.empty()) {
    const auto item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    auto value = percent_decoded(item.substr(equals + 1));
    auto name = percent_decoded(item.substr(0, equals));
    const bool again = std::ranges::any_of(out, [&](const auto& each) { return each.first == name; });
    if (!name || !value || again) return std::nullopt;
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t bytes_max = 40;
  return std::string(utf8_prefix(name, bytes_max));
}

std::string http_text(int status, std::string_view content_type, std::string_view body, std::string_view fields) {
  std::string out = response_head(status, content_type);
  out.append(fields).append("Content-Length: ").append(std::to_string(body.size()));
  return out.append("\r\n\r\n").append(body);
}

std::string http_unauthorized(std::string_view fields) {
  return http_text(401, "application/json", "{\"error\":\"auth_required\"}\n",
                   "WWW-Authenticate: Bearer\r\n" + std::string(fields));
}

std::string http_chunked_head(std::string_view content_type) {
  return response_head(200, content_type) + "Transfer-Encoding: chunked\r\n\r\n";
}

std::string http_chunk(std::string_view bytes) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16).ptr;
  std::string out(digits.data(), end);
  out.reserve(out.size() + bytes.size() + 4);
  return out.append("\r\n").append(bytes).append("\r\n");
}

}  // namespace viewgate::gateway
