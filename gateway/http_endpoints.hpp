// What the public port answers beside the socket: whether the process lives and whether it takes clients. Everything
// else is not here. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/handshake.hpp"

namespace viewgate::gateway {

enum class Readiness : std::uint8_t { not_ready, ready };

/// The whole response; the connection ends with it.
[[nodiscard]] std::string http_response(const RequestLine& request, Readiness readiness);

}  // namespace viewgate::gateway
