#include "support/ws_client.hpp"

#include <algorithm>
#include <stdexcept>

namespace viewgate::testing {

std::string Document::raw(std::string_view name) const {
  std::vector<loadtest::Member> all;
  return loadtest::members(text, all) ? std::string(loadtest::member(all, name)) : std::string();
}

std::string Document::plain(std::string_view name) const { return std::string(loadtest::unquoted(raw(name))); }

std::int64_t Document::number(std::string_view name) const { return loadtest::integer(raw(name)).value_or(-1); }

std::string subscribe_text(const SubscribeText& what) {
  std::string out = R"({"type":"subscribe","id":)" + loadtest::quoted(what.id) + R"(,"space":)" +
                    loadtest::quoted(what.space) + R"(,"view":)" + loadtest::quoted(what.view);
  if (!what.params.empty()) out += R"(,"params":)" + what.params;
  if (what.cursor) out += R"(,"cursor":)" + loadtest::quoted(*what.cursor);
  return out + "}";
}

WsClient::WsClient(std::uint16_t port, std::string_view token, std::string_view client) : socket_(port) {
  const std::string named = client.empty() ? "" : R"(","client":")" + std::string(client);
  send(R"({"type":"hello","protocol":1,"token":")" + std::string(token) + named + "\"}");
  welcome_ = next();
  if (welcome_.type() != "welcome") throw std::runtime_error("instead of welcome came: " + welcome_.text);
}

Document WsClient::next(std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (true) {
    while (!waiting_.empty()) {
      Document document = std::move(waiting_.front());
      waiting_.pop_front();
      const std::string type = document.type();
      if (type == "ping") {
        send(R"({"type":"pong"})");
      } else if (std::find(skipped_.begin(), skipped_.end(), type) == skipped_.end()) {
        return document;
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const auto frame = left.count() < 0 ? std::nullopt : socket_.read_frame(left);
    if (!frame) return {};
    if (frame->opcode == Opcode::close && frame->payload.size() >= 2) {
      close_code_ = static_cast<std::uint16_t>(static_cast<std::uint8_t>(frame->payload[0]) << 8 |
                                               static_cast<std::uint8_t>(frame->payload[1]));
      return {};
    }
    std::string_view text = frame->payload;
    while (frame->opcode == Opcode::text && !text.empty()) {
      const std::size_t line = std::min(text.find('\n'), text.size());
      if (line > 0) waiting_.push_back({std::string(text.substr(0, line))});
      text.remove_prefix(std::min(line + 1, text.size()));
    }
  }
}

Opened WsClient::open(const SubscribeText& what) {
  send(subscribe_text(what));
  Opened out;
  std::vector<Document> others;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (out.ready.text.empty() && std::chrono::steady_clock::now() < end) {
    Document document = next();
    const std::string type = document.type();
    const std::string channel = out.subscribed.plain("channel");
    if (type == "subscribed" && document.plain("id") == what.id) {
      out.subscribed = document;
      if (!document.plain("same_as").empty()) break;
    } else if (type == "snapshot" && document.plain("channel") == channel) {
      const std::string records = document.raw("records");
      std::vector<std::string_view> each;
      if (!loadtest::elements(records, each)) throw std::runtime_error("records is no array: " + document.text);
      out.records.insert(out.records.end(), each.begin(), each.end());
    } else if (type == "ready" && document.plain("channel") == channel) {
      out.ready = document;
    } else if (type == "error" || type.empty()) {
      throw std::runtime_error("instead of ready came: " + document.text);
    } else {
      others.push_back(document);
    }
  }
  waiting_.insert(waiting_.begin(), others.begin(), others.end());
  return out;
}

void WsClient::mutate(const std::string& space, std::int64_t number, std::string_view mutations) {
  send(R"({"type":"mutate","space":)" + loadtest::quoted(space) + R"(,"number":")" + std::to_string(number) +
       R"(","mutations":)" + std::string(mutations) + "}");
}

Document WsClient::receipt_of(std::int64_t number, std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  const std::string wanted = R"("number":")" + std::to_string(number) + '"';
  Document out;
  do {
    out = next_of("receipts",
                  std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()));
  } while (!out.text.empty() && out.text.find(wanted) == std::string::npos);
  return out;
}

Document WsClient::next_of(std::string_view type, std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  std::vector<std::string> hidden = skipped_;
  std::erase(skipped_, std::string(type));
  Document out;
  do {
    out = next(std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()));
  } while (!out.text.empty() && out.type() != type);
  skipped_ = std::move(hidden);
  return out;
}

std::uint16_t WsClient::closed_with(std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (!next(std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()))
              .text.empty()) {
  }
  return close_code_;
}

}  // namespace viewgate::testing
