// What travels in a comparison of servers: a text whose mark says which message it is and when it was due. Found in the
// bytes of any protocol that sends texts as they are, so one client loads them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/loop.hpp"

namespace viewgate::loadtest {

struct Mark {
  Clock::time_point due;
  std::uint32_t number = 0;
};

/// '@', 20 digits of nanoseconds on the steady clock, 10 digits of number.
inline constexpr std::size_t mark_bytes = 31;

/// A text of so many bytes, at least mark_bytes, that holds this mark once and nothing that JSON would escape.
std::string marked_text(const Mark& mark, std::size_t bytes);

/// Finds the marks in one connection's bytes, however they are cut.
class MarkScanner {
 public:
  /// Calls `found(mark)` for each mark that ends in `bytes`.
  template <class Found>
  void scan(std::string_view bytes, Found&& found) {
    if (!begun_.empty()) {
      const std::size_t missing = mark_bytes - begun_.size();
      begun_ += bytes.substr(0, missing);
      bytes.remove_prefix(std::min(missing, bytes.size()));
      if (begun_.size() < mark_bytes) return;
      found(read(begun_));
      begun_.clear();
    }
    for (std::size_t at = bytes.find('@'); at != std::string_view::npos; at = bytes.find('@')) {
      bytes.remove_prefix(at);
      if (bytes.size() < mark_bytes) {
        begun_ = bytes;
        return;
      }
      found(read(bytes));
      bytes.remove_prefix(mark_bytes);
    }
  }

 private:
  static Mark read(std::string_view text);

  std::string begun_;  ///< a mark whose end has not come
};

}  // namespace viewgate::loadtest
