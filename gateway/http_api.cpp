#include "gateway/http_api.hpp"

#include <array>
#include <charconv>

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
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 426:
      return "Upgrade Required";
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

}  // namespace

std::string http_text(int status, std::string_view content_type, std::string_view body, std::string_view fields) {
  std::string out = response_head(status, content_type);
  out.append(fields).append("Content-Length: ").append(std::to_string(body.size()));
  return out.append("\r\n\r\n").append(body);
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
