#include "gateway/http_head.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <charconv>

#include "gateway/protocol.hpp"

namespace viewgate::gateway {
namespace {

namespace http = boost::beast::http;

// A line that begins with a blank continues the field before it (obs-fold, obsolete since RFC 7230). Beast joins such
// lines; proxies differ in what they make of them.
bool has_folded_line(std::string_view head) {
  return head.find("\r\n ") != std::string_view::npos || head.find("\r\n\t") != std::string_view::npos;
}

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return text;
}

}  // namespace

std::size_t HttpHead::count(std::string_view field) const {
  return static_cast<std::size_t>(std::ranges::count(fields, field, [](const auto& each) { return each.first; }));
}

std::string_view HttpHead::only(std::string_view field) const {
  if (count(field) != 1) return {};
  return std::ranges::find(fields, field, [](const auto& each) { return each.first; })->second;
}

bool HttpHead::names_token(std::string_view field, std::string_view token) const {
  return std::ranges::any_of(fields, [&](const auto& each) {
    const boost::beast::string_view value(each.second.data(), each.second.size());
    return each.first == field && http::token_list{value}.exists({token.data(), token.size()});
  });
}

bool HttpHead::has_body() const {
  return count("transfer-encoding") > 0 || (count("content-length") > 0 && only("content-length") != "0");
}

std::optional<std::size_t> HttpHead::content_length() const {
  if (count("transfer-encoding") > 0) return std::nullopt;
  if (count("content-length") == 0) return 0;
  const auto text = only("content-length");
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::string_view HttpHead::bearer() const {
  constexpr std::string_view scheme = "bearer ";  // however its letters are written: RFC 9110 section 11.1
  const auto value = only("authorization");
  if (lower(std::string(value.substr(0, scheme.size()))) != scheme) return {};
  const auto token = value.find_first_not_of(' ', scheme.size());
  return token == std::string_view::npos ? std::string_view{} : value.substr(token);
}

std::variant<HttpHead, HttpRefused> parse_http_head(std::string_view head) {
  if (head.size() > limits::request_header_bytes)
    return HttpRefused{431, "the request header is larger than 8192 bytes"};
  http::request_parser<http::empty_body> parser;
  parser.header_limit(limits::request_header_bytes);
  parser.body_limit(boost::none);  // how long a body may be, whoever reads it says
  parser.eager(false);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error || !parser.is_header_done()) return HttpRefused{400, "the request is not well-formed HTTP"};
  const auto& request = parser.get();
  if (request.version() != 11) return HttpRefused{400, "the request must be HTTP/1.1"};
  if (has_folded_line(head)) return HttpRefused{400, "a header field continues on a second line"};
  HttpHead out;
  out.method = text_of(request.method_string());
  out.target = text_of(request.target());
  for (const auto& field : request)
    out.fields.emplace_back(lower(text_of(field.name_string())), text_of(field.value()));
  if (out.count("host") != 1) return HttpRefused{400, "the request must have exactly one Host"};
  return out;
}

}  // namespace viewgate::gateway
