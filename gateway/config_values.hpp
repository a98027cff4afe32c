// What a setting's kind makes of the text that was written: a value of the configuration, or what would be right.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/config.hpp"

namespace viewgate::gateway {

/// Without the blanks around it.
[[nodiscard]] std::string_view trim(std::string_view text);

/// Nothing when the value was taken; else what is right.
[[nodiscard]] std::optional<std::string> store_value(Config& config, const Setting& setting, std::string_view raw);

}  // namespace viewgate::gateway
