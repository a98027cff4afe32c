#include "projection/timestamp.hpp"

#include <array>
#include <cstdio>
#include <limits>
#include <variant>

namespace viewgate::projection {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 86'400 * second;
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

/// Reads from the front of a text; every take_ says whether it was there.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  /// Between `least` and `most` digits.
  bool take_number(std::size_t least, std::size_t most, std::int64_t& out) {
    std::size_t count = 0;
    out = 0;
    while (count < text_.size() && count <= most && text_[count] >= '0' && text_[count] <= '9') {
      out = out * 10 + (text_[count++] - '0');
    }
    if (count < least || count > most) return false;
    text_.remove_prefix(count);
    return true;
  }
  [[nodiscard]] bool at_digit() const { return !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; }
  [[nodiscard]] std::size_t left() const { return text_.size(); }
  [[nodiscard]] bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

/// HH:MM[:SS[.ffffff]] as microseconds of the day.
bool take_time(Reader& in, std::int64_t& out) {
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t seconds = 0;
  std::int64_t fraction = 0;
  if (!in.take_number(2, 2, hour) || !in.take(':') || !in.take_number(2, 2, minute)) return false;
  if (in.take(':')) {
    if (!in.take_number(2, 2, seconds)) return false;
    if (in.take('.')) {
      const std::size_t before = in.left();
      if (!in.take_number(1, 6, fraction)) return false;
      for (std::size_t digits = before - in.left(); digits < 6; ++digits) fraction *= 10;
    }
  }
  if (hour > 24 || minute > 59 || seconds > 60 || (hour == 24 && (minute > 0 || seconds > 0 || fraction > 0)))
    return false;
  out = ((hour * 60 + minute) * 60 + seconds) * second + fraction;
  return true;
}

/// Z or ±HH[[:]MM[:SS]], as microseconds east of UTC; nothing there = UTC.
bool take_zone(Reader& in, std::int64_t& out) {
  out = 0;
  if (in.take('Z') || in.take('z')) return true;
  const bool west = in.take('-');
  if (!west && !in.take('+')) return true;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t seconds = 0;
  if (!in.take_number(2, 2, hour)) {
    return false;
  }
  if (in.take(':') || in.at_digit()) {
    if (!in.take_number(2, 2, minute)) return false;
    if (in.take(':') && !in.take_number(2, 2, seconds)) return false;
  }
  if (hour > 15 || minute > 59 || seconds > 59) return false;
  out = ((hour * 60 + minute) * 60 + seconds) * second * (west ? -1 : 1);
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct Moment {
  std::int64_t days = 0;
  std::int64_t time = 0;
  std::int64_t zone = 0;
};

/// Everything but the infinities.
std::variant<Fault, Moment> read_moment(std::string_view text) {
  Reader in(text);
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day_of_month = 0;
  if (!in.take_number(4, 7, year) || !in.take('-') || !in.take_number(2, 2, month) || !in.take('-') ||
      !in.take_number(2, 2, day_of_month)) {
    return Fault::invalid_text;
  }
  Moment out;
  const bool has_time = in.take('T') || (in.left() > 1 && !in.take(std::string_view(" BC")) && in.take(' '));
  const bool date_bc = !has_time && text.ends_with(" BC");
  if (has_time && (!take_time(in, out.time) || !take_zone(in, out.zone))) return Fault::invalid_text;
  const bool before_christ = in.take(std::string_view(" BC")) || date_bc;
  if (!in.done() || year == 0) return Fault::invalid_text;
  if (before_christ) year = 1 - year;
  if (month < 1 || month > 12 || day_of_month < 1 || day_of_month > days_in_month(year, static_cast<int>(month))) {
    return Fault::invalid_text;
  }
  out.days = days_from_civil(year, static_cast<int>(month), static_cast<int>(day_of_month));
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
  if (text == "infinity") return is_date ? Value(Date{last_date}) : Value(Timestamp{positive_infinity});
  if (text == "-infinity") return is_date ? Value(Date{first_date}) : Value(Timestamp{negative_infinity});
  const auto read = read_moment(text);
  if (const auto* fault = std::get_if<Fault>(&read)) return *fault;
  const Moment moment = std::get<Moment>(read);
  if (is_date) {
    if (moment.days < earliest_date || moment.days >= end_of_dates) return Fault::out_of_range;
    return Date{static_cast<std::int32_t>(moment.days)};
  }
  const Wide instant = Wide{moment.days} * day + moment.time - (type == Type::timestamptz ? moment.zone : 0);
  if (instant < earliest || instant >= end_of_range) return Fault::out_of_range;
  return Timestamp{static_cast<std::int64_t>(instant)};
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
