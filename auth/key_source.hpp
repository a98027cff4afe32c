// Fetches issuers' key sets from the addresses or files that configuration names, now and then and when a token names a key that is not
// known: on a thread of its own, since the library blocks. No address ever comes from a token.
//
// What cannot be fetched changes nothing: the keys that were there stay in force, and who is connected stays connected.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwks.hpp"

namespace viewgate::auth {

struct KeyPlace {
  std::size_t issuer = 0;  ///< its place in the issuer table
  std::string url;         ///< or
  std::string file;        ///< where this is not empty
  std::vector<Algorithm> algorithms;
};

struct KeySourceOptions {
  std::chrono::milliseconds interval{600'000};  ///< between two fetches of the same place
  std::chrono::milliseconds gap{60'000};        ///< at least, between two that unknown keys cause
  std::chrono::milliseconds time_max{3'000};    ///< of one fetch, from the name's look-up to the last byte
};

/// Whether keys may be fetched from there: https, or http on this machine.
[[nodiscard]] bool is_key_address(std::string_view url);

/// One fetch (or reading of the file), here and now. Throws std::runtime_error (cannot be fetched) or std::invalid_argument (parse_jwks).
[[nodiscard]] Jwks fetch_jwks(const KeyPlace& place, std::chrono::milliseconds time_max);

class KeySource {
 public:
  /// Both are called on the source's thread, for each fetch that ended: `fetched` where it brought keys, `failed` with the
  /// reason where not. To ask, they see the fetch as under way until they return; they must not ask themselves.
  struct Listener {
    std::function<void(std::size_t issuer, Jwks jwks)> fetched;
    std::function<void(std::size_t issuer, const std::string& reason)> failed;
  };

  /// Fetches every place at once, then at the interval.
  KeySource(std::vector<KeyPlace> places, KeySourceOptions options, Listener listener);
  /// Waits for a fetch that is under way, at most its time_max.
  ~KeySource();
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;

  /// Begins no fetch any more, and does not wait for one that is under way: its end may still be told.
  void stop();

  /// A token names an unknown key. True: a fetch is under way, the listener hears of its end. False: that issuer's keys are
  /// not fetched, or were a moment ago. Thread-safe.
  [[nodiscard]] bool ask(std::size_t issuer);
  /// As ask, and begins nothing: whether the listener is still to hear of a fetch's end. Thread-safe.
  [[nodiscard]] bool is_under_way(std::size_t issuer) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace viewgate::auth
