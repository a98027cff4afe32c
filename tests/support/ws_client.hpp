// A blocking client that speaks the protocol one document at a time: for tests that say what must come next.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/slices.hpp"
#include "support/raw_socket.hpp"

namespace viewgate::testing {

/// One document of the server. A default one (type "") stands for "none came".
struct Document {
  std::string text;

  /// The raw JSON of a member; empty = absent.
  std::string raw(std::string_view name) const;
  /// The text of a string member; its raw JSON where it is no string.
  std::string plain(std::string_view name) const;
  std::int64_t number(std::string_view name) const;
  std::string type() const { return plain("type"); }
};

struct SubscribeText {
  std::string id = "s";
  std::string space = "s1";
  std::string view = "open";
  std::string params;  ///< JSON; empty = absent
  std::optional<std::string> cursor = {};
};
std::string subscribe_text(const SubscribeText& what);

/// What a subscription was told: its set as it was at `ready`, and the pieces of its cursor.
struct Opened {
  Document subscribed;
  std::vector<std::string> records;  ///< {"key":…,"record":…} as they came
  Document ready;
  bool resumed() const { return subscribed.raw("resumed") == "true"; }
  std::string context() const { return subscribed.plain("context"); }
  std::string cursor() const { return context() + "." + ready.plain("position"); }
};

class WsClient {
 public:
  explicit WsClient(std::uint16_t port, int receive_buffer = 0) : socket_(port, receive_buffer) {}
  /// Connects and says hello; the welcome is `welcome()`. `client`: under which it sends mutations.
  WsClient(std::uint16_t port, std::string_view token, std::string_view client = {});

  bool send(std::string_view text) { return socket_.send_text(text); }
  /// The next document but pings (answered), and documents of these types (`progress`, `at` and `notice` unless told
  /// otherwise).
  Document next(std::chrono::milliseconds time_max = patience);
  void also_show(std::string_view type) { std::erase(skipped_, type); }
  /// Subscribes and reads up to `ready`. Other documents that came in between are kept for next().
  Opened open(const SubscribeText& what);
  /// Reads on until a document of this type; what came before it is dropped.
  Document next_of(std::string_view type, std::chrono::milliseconds time_max = patience);
  /// Sends a mutation; `mutations` is the JSON array.
  void mutate(const std::string& space, std::int64_t number, std::string_view mutations);
  /// The receipt of this number: reads on to the document that holds it.
  Document receipt_of(std::int64_t number, std::chrono::milliseconds time_max = patience);
  const Document& welcome() const { return welcome_; }
  /// Reads on to the close frame: its code, 0 without one.
  std::uint16_t closed_with(std::chrono::milliseconds time_max = patience);
  RawWebSocket& raw() { return socket_; }

 private:
  RawWebSocket socket_;
  Document welcome_;
  std::deque<Document> waiting_;
  std::vector<std::string> skipped_{"progress", "at", "notice"};
  std::uint16_t close_code_ = 0;
};

}  // namespace viewgate::testing
