// timestamptz text: ISO 8601 in and out, as instants. PostgreSQL reads many more spellings; those whose meaning depends
// on settings or on today's date are not deterministic, and the rest is not needed to be exact.
#pragma once

#include <string>
#include <string_view>

#include "projection/value.hpp"

namespace viewgate::projection {

/// YYYY-MM-DD[ T]HH:MM[:SS[.ffffff]][Z|±HH[:MM[:SS]]][ BC], the date alone, 'infinity', '-infinity'. Without a zone:
/// UTC. Fault::invalid_text for anything else, Fault::out_of_range beyond PostgreSQL's range (4713 BC to 294276 AD).
[[nodiscard]] Value parse_timestamp(std::string_view text);

/// As PostgreSQL prints it with DateStyle ISO and TimeZone UTC.
[[nodiscard]] std::string print_timestamp(Timestamp value);

}  // namespace viewgate::projection
