// What an operator does about each thing that a client, a log or a shell may show: the right-hand columns of
// docs/operating.md. Switches without default, so that a new error does not compile until somebody has said what to do.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/errors.hpp"
#include "gateway/protocol.hpp"

namespace viewgate::gateway {

/// For whoever runs the node; each names the setting, command or metric that helps.
[[nodiscard]] std::string_view advice_for(ErrorCode code);
[[nodiscard]] std::string_view advice_for(ResetReason reason);
[[nodiscard]] std::string_view advice_for(ExitStatus status);
/// `close_code`: one of `close_codes`; empty for any other.
[[nodiscard]] std::string_view advice_for_close(std::uint16_t close_code);

/// What the SDK does by itself, and what any other client should do.
[[nodiscard]] std::string_view client_does(ErrorCode code);
[[nodiscard]] std::string_view client_does(Retry retry);

/// Why a view starts anew.
[[nodiscard]] std::string_view meaning_of(ResetReason reason);

}  // namespace viewgate::gateway
