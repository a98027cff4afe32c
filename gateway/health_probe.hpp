// Asks a node on this machine whether it takes clients (/readyz), as a container's health check does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "gateway/config.hpp"

namespace viewgate::gateway {

enum class ProbeOver : std::uint8_t { plain, tls };

/// The status line of the answer. An address that stands for all is asked on the loopback. With TLS the certificate is not verified:
/// what is asked is this machine's own, and nothing secret is said. Throws Stop(failed): nobody answers within the time.
[[nodiscard]] std::string probe_readiness(const Endpoint& endpoint, ProbeOver over, std::chrono::milliseconds time_max);

}  // namespace viewgate::gateway
