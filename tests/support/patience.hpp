// How long tests wait and how much memory they allow: one place, since a sanitizer makes everything several times slower and keeps
// what was freed for a while. A bound here is never what a test is about: it only ends one that would wait for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace viewgate::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int slowness = 5;
inline constexpr std::uint64_t memory_factor = 10;  ///< shadows of everything, and what is kept
#else
inline constexpr int slowness = 1;
inline constexpr std::uint64_t memory_factor = 1;
#endif

/// `plain` is enough for a program as it is delivered, on a machine that is busy.
constexpr std::chrono::milliseconds patient(std::chrono::milliseconds plain) { return plain * slowness; }

/// The same as a flag's value: for deadlines of the gateway that honest clients have to keep.
inline std::string patient_flag(std::chrono::milliseconds plain) {
  return std::to_string(patient(plain).count()) + "ms";
}

/// For anything that ought to happen at once.
inline constexpr std::chrono::milliseconds patience = patient(std::chrono::seconds(10));

}  // namespace viewgate::testing
