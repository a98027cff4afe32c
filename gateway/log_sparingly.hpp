// Events that a client, or a database that is away, can cause as often as it likes: at most so many lines a second, of all of them
// together. `lines_left_out`, before the next one, says how many were not written. Thread-safe.
#pragma once

#include "gateway/log.hpp"

namespace viewgate::gateway::log {

inline constexpr int sparing_lines_per_second = 20;

void write_sparingly(Level level, std::string_view event, std::initializer_list<Field> fields);

}  // namespace viewgate::gateway::log
