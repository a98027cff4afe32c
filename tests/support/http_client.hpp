// One HTTP request over a connection of its own, and what came of it.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/raw_socket.hpp"

namespace viewgate::testing {

struct HttpAnswer {
  std::string head;
  std::string body;       ///< of a chunked answer: without the chunks' frames
  bool is_whole = false;  ///< as long as its head says, or with its last chunk
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::istringstream text(body);
    for (std::string line; std::getline(text, line);) out.push_back(line);
    return out;
  }
};

inline std::string unchunked(std::string_view text, bool& is_whole) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find("\r\n");
    const auto size = std::stoul(std::string(text.substr(0, end)), nullptr, 16);
    text.remove_prefix(end + 2);
    if (text.size() < size + 2) break;
    is_whole = size == 0;
    out += text.substr(0, size);
    text.remove_prefix(size + 2);
  }
  return out;
}

inline std::string get_text(const std::string& target, const std::string& token) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n";
}

inline HttpAnswer ask(std::uint16_t port, const std::string& request) {
  RawSocket socket(port);
  socket.send(request);
  HttpAnswer out;
  out.head = socket.read_until("\r\n\r\n");
  const std::string rest = socket.read_until("never in it", patient(std::chrono::seconds(60)));
  if (out.head.find("chunked") != std::string::npos) {
    out.body = unchunked(rest, out.is_whole);
  } else {
    out.body = rest;
    out.is_whole = out.head.find("Content-Length: " + std::to_string(rest.size()) + "\r\n") != std::string::npos;
  }
  return out;
}

}  // namespace viewgate::testing
