// A gateway of two threads, and who asks its Inspector.
#pragma once

#include <set>

#include "loadtest/slices.hpp"
#include "operators.hpp"

namespace viewgate::testing {

class Inspect : public Operators {
 protected:
  Document get(const std::string& target) {
    const Answer answer = ask(port, "GET", "/v1/inspect/" + target);
    EXPECT_THAT(answer.head, ::testing::StartsWith("HTTP/1.1 200 ")) << target << ": " << answer.body;
    return {answer.body};
  }
  static std::vector<Document> rows(const Document& page, std::string_view name) {
    const std::string raw = page.raw(name);
    std::vector<std::string_view> found;
    if (!loadtest::elements(raw, found)) throw std::runtime_error("no rows " + std::string(name) + ": " + page.text);
    std::vector<Document> out;
    for (const auto each : found) out.push_back({std::string(each)});
    return out;
  }
  /// Of all pages, one after the other.
  std::vector<Document> all_rows(const std::string& target, std::string_view name) {
    std::vector<Document> out;
    std::string after;
    for (;;) {
      const Document page = get(target + after);
      for (auto& each : rows(page, name)) out.push_back(std::move(each));
      if (page.raw("next").empty()) return out;
      after = "&after=" + percent_encoded(page.plain("next"));
    }
  }
  static std::string percent_encoded(const std::string& text) {
    std::string out;
    for (const unsigned char c : text) {
      constexpr const char* digits = "0123456789ABCDEF";
      out += '%';
      out += digits[c / 16];
      out += digits[c % 16];
    }
    return out;
  }
  static std::vector<std::string> column(const std::vector<Document>& rows, std::string_view name) {
    std::vector<std::string> out;
    for (const auto& each : rows) out.push_back(each.plain(name));
    return out;
  }

  GatewayOptions two_threads() {
    GatewayOptions out = options();
    out.set("--threads", "2");
    // Who reads nothing, and who comes late because many come at once, is looked at, and not let go meanwhile.
    out.set("--time-handshake", "5m");
    out.set("--time-hello", "5m");
    out.set("--time-message", "5m");
    out.set("--time-no-progress", "5m");
    out.set("--time-silence", "5m");
    return out;
  }

  GatewayProcess gateway{two_threads()};
  const std::uint16_t port = admin_port(gateway);
};

}  // namespace viewgate::testing
