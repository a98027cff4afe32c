// date, timestamp and timestamptz: ISO 8601 in and out. PostgreSQL reads many more spellings; those whose meaning depends
// on settings or on today's date are not deterministic, and the rest is not needed to be exact. The time zone is UTC.
#pragma once

#include <string>
#include <string_view>

#include "projection/value.hpp"

namespace viewgate::projection {

/// A day (YYYY-M-D, YYYYMMDD or YYYY-DDD), 'T' or spaces and a time of day up to 24:00:00 (H:M[:S[.f]], HHMM or
/// HHMMSS[.f]), a zone (Z, UTC, GMT, ±HH, ±HHMM, ±HH:M[:S]; after HHMM and HHMMSS without colons) and BC; spaces may
/// stand between these and around them, and of time, zone and BC each may be left out, the zone with the time. Or
/// 'infinity', '-infinity'. Letters are of any case. A fraction has up to 60 digits and is rounded to microseconds. A
/// timestamptz without a zone is UTC; a timestamp ignores its zone, a date its time. All as in PostgreSQL, whose year has
/// 4 to 7 digits here. Fault::invalid_text for anything else, Fault::out_of_range beyond PostgreSQL's range (4713 BC to
/// 294276 AD; dates to 5874897 AD).
[[nodiscard]] Value parse_moment(Type type, std::string_view text);

/// Whether it is such a text with a time of day, which a date would forget.
[[nodiscard]] bool has_time_of_day(std::string_view text);

/// As PostgreSQL prints it with DateStyle ISO and TimeZone UTC.
[[nodiscard]] std::string print_date(Date value);
[[nodiscard]] std::string print_timestamp(Type type, Timestamp value);
/// As to_jsonb prints it: with a T, and a zone of hours and minutes.
[[nodiscard]] std::string print_timestamp_iso(Type type, Timestamp value);

/// A date as an instant, in 128 bits since dates reach further than timestamps.
[[nodiscard]] std::strong_ordering compare_date(Date date, Timestamp instant);
/// Where it is one: the text of microseconds that equal dates and timestamps share.
[[nodiscard]] std::string canonical_date(Date date);

/// The explicit casts. Fault::out_of_range where PostgreSQL raises.
[[nodiscard]] Value date_to_timestamp(Date date);
[[nodiscard]] Value timestamp_to_date(Timestamp instant);

/// date + days and date - date.
[[nodiscard]] Value add_days(Date date, std::int64_t days);
[[nodiscard]] Value days_between(Date later, Date earlier);

}  // namespace viewgate::projection
