#include "projection/timestamp.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

namespace viewgate::projection {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 86'400 * second;
// PostgreSQL reads no text of more than about 128 characters; of a fraction, this much is within that.
constexpr std::size_t most_fraction_digits = 60;
// timestamp.h: MIN_TIMESTAMP and END_TIMESTAMP, in microseconds since 2000-01-01.
constexpr std::int64_t earliest = -211'813'488'000'000'000;
constexpr std::int64_t end_of_range = 9'223'371'331'200'000'000;
constexpr std::int64_t negative_infinity = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t positive_infinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t first_date = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t last_date = std::numeric_limits<std::int32_t>::max();
// date.h: 4713-11-24 BC and 5874898-01-01, in days since 2000-01-01.
constexpr std::int64_t earliest_date = -2'451'545;
constexpr std::int64_t end_of_dates = 2'147'483'494 - 2'451'545;

__extension__ using Wide = __int128;

/// Days since 2000-01-01 in the proleptic Gregorian calendar; year 0 is 1 BC.
std::int64_t days_from_civil(std::int64_t year, int month, int day_of_month) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day_of_month - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468 - 10'957;
}

struct Civil {
  std::int64_t year = 0;
  int month = 0;
  int day = 0;
};

Civil civil_from_days(std::int64_t days) {
  days += 719'468 + 10'957;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  Civil out;
  out.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  out.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  out.year = year_of_era + era * 400 + (out.month <= 2 ? 1 : 0);
  return out;
}

int days_in_month(std::int64_t year, int month) {
  static constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : days[static_cast<std::size_t>(month - 1)];
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// Reads from the front of a text; every take_ says whether it was there, and takes nothing where it was not.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// In any case; the word is given in small letters. No letter follows it.
  bool take_word(std::string_view word) {
    if (text_.size() < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (lower(text_[i]) != word[i]) return false;
    }
    if (text_.size() > word.size() && lower(text_[word.size()]) >= 'a' && lower(text_[word.size()]) <= 'z')
      return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool take_spaces() {
    const std::size_t before = text_.size();
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
    return text_.size() != before;
  }
  /// All the digits that come next, where these are between `least` and `most`.
  bool take_digits(std::size_t least, std::size_t most, std::string_view& out) {
    std::size_t count = 0;
    while (count < text_.size() && count <= most && is_digit(text_[count])) ++count;
    if (count < least || count > most) return false;
    out = text_.substr(0, count);
    text_.remove_prefix(count);
    return true;
  }
  bool take_number(std::size_t least, std::size_t most, std::int64_t& out) {
    std::string_view digits;
    if (!take_digits(least, most, digits)) return false;
    out = 0;
    for (const char c : digits) out = out * 10 + (c - '0');
    return true;
  }
  [[nodiscard]] bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

struct Clock {
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t seconds = 0;
  std::int64_t fraction_us = 0;
};

/// A fraction of a second in microseconds, from its digits. Where there are more than six, PostgreSQL takes the nearest
/// double precision number times a million, and of two that are equally near the even one; so this does the same.
std::int64_t microseconds_of(std::string_view digits) {
  if (digits.size() > 6) {
    double fraction = 0;
    const std::string text = "0." + std::string(digits);
    std::from_chars(text.data(), text.data() + text.size(), fraction);
    return static_cast<std::int64_t>(std::rint(fraction * 1e6));
  }
  std::int64_t out = 0;
  for (std::size_t i = 0; i < 6; ++i) out = out * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return out;
}

bool take_fraction(Reader& in, std::int64_t& out) {
  std::string_view digits;
  if (!in.take('.')) return true;
  if (!in.take_digits(1, most_fraction_digits, digits)) return false;
  out = microseconds_of(digits);
  return true;
}

/// H:M[:S[.f]], HHMM or HHMMSS[.f] as microseconds of the day; says in `basic` whether it was one without colons.
bool take_time(Reader& in, std::int64_t& out, bool& basic) {
  Clock clock;
  std::int64_t number = 0;
  if (in.take_number(4, 4, number)) {
    basic = true;
    clock = {number / 100, number % 100, 0, 0};
  } else if (in.take_number(6, 6, number)) {
    basic = true;
    clock = {number / 10'000, number / 100 % 100, number % 100, 0};
    if (!take_fraction(in, clock.fraction_us)) return false;
  } else {
    if (!in.take_number(1, 2, clock.hour) || !in.take(':') || !in.take_number(1, 2, clock.minute)) return false;
    if (in.take(':') && (!in.take_number(1, 2, clock.seconds) || !take_fraction(in, clock.fraction_us))) return false;
  }
  if (clock.minute > 59 || clock.seconds > 60) return false;
  out = ((clock.hour * 60 + clock.minute) * 60 + clock.seconds) * second + clock.fraction_us;
  return out <= day;
}

/// Z, UTC, GMT, ±HH, ±HHMM or ±HH:M[:S], as microseconds east of UTC; nothing there = UTC. Beside a basic time there are
/// no colons: there PostgreSQL takes some and refuses others.
bool take_zone(Reader& in, bool basic, std::int64_t& out) {
  out = 0;
  if (in.take_word("z") || in.take_word("utc") || in.take_word("gmt")) return true;
  const bool west = in.take('-');
  if (!west && !in.take('+')) return true;
  std::int64_t number = 0;
  Clock clock;
  if (in.take_number(4, 4, number)) {
    clock = {number / 100, number % 100, 0, 0};
  } else {
    if (!in.take_number(2, 2, clock.hour)) return false;
    if (!basic && in.take(':')) {
      if (!in.take_number(1, 2, clock.minute) || (in.take(':') && !in.take_number(1, 2, clock.seconds))) return false;
    }
  }
  if (clock.hour > 15 || clock.minute > 59 || clock.seconds > 59) return false;
  out = ((clock.hour * 60 + clock.minute) * 60 + clock.seconds) * second * (west ? -1 : 1);
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Year, month and day as they are written; month 0 where the day is that of the year.
struct WrittenDay {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
};

/// YYYYMMDD, YYYY-M-D or YYYY-DDD.
bool take_day(Reader& in, WrittenDay& out) {
  std::int64_t number = 0;
  if (in.take_number(8, 8, number)) {
    out = {number / 10'000, number / 100 % 100, number % 100};
    return out.month > 0;
  }
  if (!in.take_number(4, 7, out.year) || !in.take('-')) return false;
  if (in.take_number(3, 3, out.day)) return true;
  return in.take_number(1, 2, out.month) && out.month > 0 && in.take('-') && in.take_number(1, 2, out.day);
}

/// Days since 2000-01-01, where there is such a day.
std::optional<std::int64_t> days_of(WrittenDay written, bool before_christ) {
  if (written.year == 0 || written.month > 12 || written.day == 0) return std::nullopt;
  const std::int64_t year = before_christ ? 1 - written.year : written.year;
  if (written.month == 0) {
    const std::int64_t first = days_from_civil(year, 1, 1);
    const std::int64_t days = first + written.day - 1;
    return days < days_from_civil(year + 1, 1, 1) ? std::optional(days) : std::nullopt;
  }
  const int month = static_cast<int>(written.month);
  if (written.day > days_in_month(year, month)) return std::nullopt;
  return days_from_civil(year, month, static_cast<int>(written.day));
}

struct Moment {
  std::int64_t days = 0;
  std::int64_t time = 0;
  std::int64_t zone = 0;
  bool has_time = false;
};

/// Everything but the infinities, without spaces around.
std::optional<Moment> read_moment(std::string_view text) {
  Reader in(text);
  WrittenDay written;
  if (!take_day(in, written)) return std::nullopt;
  Moment out;
  const bool joint = in.take('T') || in.take('t');
  const bool spaces = !joint && in.take_spaces();
  bool before_christ = false;
  if (!joint) before_christ = in.take_word("bc");
  if (joint || (spaces && !before_christ)) {
    bool basic = false;
    out.has_time = true;
    if (!take_time(in, out.time, basic)) return std::nullopt;
    in.take_spaces();
    if (!take_zone(in, basic, out.zone)) return std::nullopt;
    in.take_spaces();
    before_christ = in.take_word("bc");
  }
  const auto days = days_of(written, before_christ);
  if (!in.done() || !days) return std::nullopt;
  out.days = *days;
  return out;
}

std::string print_day(std::int64_t days, bool& before_christ) {
  const Civil date = civil_from_days(days);
  before_christ = date.year <= 0;
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04lld-%02d-%02d",
                static_cast<long long>(before_christ ? 1 - date.year : date.year), date.month, date.day);
  return buffer.data();
}

std::string print_instant(Timestamp value, char joint, std::string_view zone) {
  if (value.microseconds == positive_infinity) return "infinity";
  if (value.microseconds == negative_infinity) return "-infinity";
  std::int64_t days = value.microseconds / day;
  std::int64_t time = value.microseconds % day;
  if (time < 0) {
    time += day;
    --days;
  }
  bool before_christ = false;
  std::string out = print_day(days, before_christ) + joint;
  std::array<char, 64> buffer{};
  const std::int64_t seconds = time / second;
  std::snprintf(buffer.data(), buffer.size(), "%02d:%02d:%02d", static_cast<int>(seconds / 3600),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  out += buffer.data();
  if (const std::int64_t fraction = time % second; fraction != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%06d", static_cast<int>(fraction));
    out += buffer.data();
    out.erase(out.find_last_not_of('0') + 1);
  }
  out += zone;
  if (before_christ) out += " BC";
  return out;
}

bool finite(Date date) { return date.days != first_date && date.days != last_date; }

}  // namespace

Value parse_moment(Type type, std::string_view text) {
  text = trim(text);
  const bool is_date = type == Type::date;
  Reader in(text);
  const bool negative = in.take('-');
  if (in.take_word("infinity") && in.done()) {
    if (is_date) return Date{negative ? first_date : last_date};
    return Timestamp{negative ? negative_infinity : positive_infinity};
  }
  const auto moment = read_moment(text);
  if (!moment) return Fault::invalid_text;
  if (is_date) {
    if (moment->days < earliest_date || moment->days >= end_of_dates) return Fault::out_of_range;
    return Date{static_cast<std::int32_t>(moment->days)};
  }
  const Wide instant = Wide{moment->days} * day + moment->time - (type == Type::timestamptz ? moment->zone : 0);
  if (instant < earliest || instant >= end_of_range) return Fault::out_of_range;
  return Timestamp{static_cast<std::int64_t>(instant)};
}

bool has_time_of_day(std::string_view text) {
  const auto moment = read_moment(trim(text));
  return moment && moment->has_time;
}

std::string print_date(Date value) {
  if (value.days == last_date) return "infinity";
  if (value.days == first_date) return "-infinity";
  bool before_christ = false;
  std::string out = print_day(value.days, before_christ);
  if (before_christ) out += " BC";
  return out;
}

std::string print_timestamp(Type type, Timestamp value) {
  return print_instant(value, ' ', type == Type::timestamptz ? "+00" : "");
}

std::string print_timestamp_iso(Type type, Timestamp value) {
  return print_instant(value, 'T', type == Type::timestamptz ? "+00:00" : "");
}

std::strong_ordering compare_date(Date date, Timestamp instant) {
  if (date.days == last_date) return positive_infinity <=> instant.microseconds;
  if (date.days == first_date) return negative_infinity <=> instant.microseconds;
  if (instant.microseconds == positive_infinity) return std::strong_ordering::less;
  if (instant.microseconds == negative_infinity) return std::strong_ordering::greater;
  const Wide midnight = Wide{date.days} * day;
  if (midnight == instant.microseconds) return std::strong_ordering::equal;
  return midnight < instant.microseconds ? std::strong_ordering::less : std::strong_ordering::greater;
}

std::string canonical_date(Date date) {
  if (date.days == last_date) return std::to_string(positive_infinity);
  if (date.days == first_date) return std::to_string(negative_infinity);
  const Wide midnight = Wide{date.days} * day;
  if (midnight < earliest || midnight >= end_of_range) return "d" + std::to_string(date.days);
  return std::to_string(static_cast<std::int64_t>(midnight));
}

Value date_to_timestamp(Date date) {
  if (date.days == last_date) return Timestamp{positive_infinity};
  if (date.days == first_date) return Timestamp{negative_infinity};
  const Wide midnight = Wide{date.days} * day;
  if (midnight < earliest || midnight >= end_of_range) return Fault::out_of_range;
  return Timestamp{static_cast<std::int64_t>(midnight)};
}

Value timestamp_to_date(Timestamp instant) {
  if (instant.microseconds == positive_infinity) return Date{last_date};
  if (instant.microseconds == negative_infinity) return Date{first_date};
  const std::int64_t days = instant.microseconds / day - (instant.microseconds % day < 0 ? 1 : 0);
  return Date{static_cast<std::int32_t>(days)};
}

Value add_days(Date date, std::int64_t days) {
  if (!finite(date)) return date;
  const std::int64_t out = date.days + days;
  if (out < earliest_date || out >= end_of_dates) return Fault::out_of_range;
  return Date{static_cast<std::int32_t>(out)};
}

Value days_between(Date later, Date earlier) {
  if (!finite(later) || !finite(earlier)) return Fault::out_of_range;
  return std::int64_t{later.days} - earlier.days;
}

}  // namespace viewgate::projection
