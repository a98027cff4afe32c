// Numbers that the environment gives to a test, and the one that a random test starts from.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace viewgate::testing {

/// Of a variable; `otherwise` where it is not set.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// VIEWGATE_SEED, or `otherwise`: a number that nobody has chosen. It is printed in the form that repeats it.
inline unsigned seed_from_environment(unsigned otherwise = std::random_device{}()) {
  const auto seed = static_cast<unsigned>(number_from_environment("VIEWGATE_SEED", otherwise));
  std::cout << "VIEWGATE_SEED=" << seed << std::endl;
  return seed;
}

}  // namespace viewgate::testing
