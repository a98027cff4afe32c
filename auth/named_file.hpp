// The whole text of a file that the operator names: configuration, keys, certificates. Here, where every user of it may look, since auth
// may look nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace viewgate::auth {

enum class FileKind : std::uint8_t {
  any,     ///< at the start, or of a command: also a pipe, for whose writer is waited
  regular  ///< of a node that runs: a pipe that nobody writes into, or slowly, would hold up everybody
};

/// Settings, keys and certificates have no more.
inline constexpr std::size_t named_file_bytes_max = std::size_t{1024} * 1024;

/// Throws std::runtime_error: it cannot be read, is not of the kind, or larger than `bytes_max`; the text names it.
[[nodiscard]] std::string read_named(const std::string& path, FileKind kind, std::size_t bytes_max);

}  // namespace viewgate::auth
