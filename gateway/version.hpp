// The program's version, as CMake has it.
#pragma once

#include <string_view>

namespace viewgate::gateway {

inline constexpr std::string_view program_version = VIEWGATE_VERSION;

}  // namespace viewgate::gateway
