// A consumer with a memory: it follows one view into a file and goes on from there after anything, its own death
// included.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "loadtest/client.hpp"

namespace viewgate::loadtest {

struct ConsumerOptions {
  Address address;
  std::string token;
  Wanted wanted;
  std::string file;
  std::uint64_t journal_bytes_max = 32 << 20;
};

/// Runs until `stop`. Returns the number of broken promises, which are printed to stderr as they happen.
std::size_t consume(const ConsumerOptions& options, const std::atomic<bool>& stop);

}  // namespace viewgate::loadtest
