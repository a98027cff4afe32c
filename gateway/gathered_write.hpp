// Pieces of bytes to a socket in one call.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace viewgate::gateway {

[[nodiscard]] std::size_t bytes_of(std::span<const std::string_view> pieces);

/// How many bytes the socket took, 0 where it would block. Absent: the connection is broken.
[[nodiscard]] std::optional<std::size_t> gathered_write(int socket, std::span<const std::string_view> pieces);

}  // namespace viewgate::gateway
