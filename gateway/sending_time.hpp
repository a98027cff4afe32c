// How long a client may take for a bootstrap, or for a catch-up that lies in a file: what is held for it is kept from others
// for as long.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace viewgate::gateway {

/// At the lowest rate that is borne, but never longer than `longest`; and `no_progress` beyond that.
[[nodiscard]] inline std::chrono::milliseconds sending_time(std::size_t bytes, std::size_t bytes_per_second_min,
                                                            std::chrono::milliseconds longest,
                                                            std::chrono::milliseconds no_progress) {
  const std::chrono::milliseconds at_that_rate(bytes * 1000 / bytes_per_second_min);
  return no_progress + std::min(at_that_rate, longest);
}

}  // namespace viewgate::gateway
