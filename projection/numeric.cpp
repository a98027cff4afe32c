#include "projection/numeric.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <limits>

namespace viewgate::projection {
namespace {

using Integer = boost::multiprecision::cpp_int;

// numeric's limits (numeric.c): digits before the point, decimals kept, and the scales that division chooses between.
constexpr std::int64_t weight_max = 131072;
constexpr std::int32_t scale_max = 16383;
constexpr std::int32_t division_digits_min = 16;
constexpr std::int32_t division_scale_max = 1000;
constexpr int base_digits = 4;  // numeric.c computes in base 10000, which shows in the scale of a quotient

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y; });
}

Integer power_of_ten(std::int64_t exponent) {
  return boost::multiprecision::pow(Integer(10), static_cast<unsigned>(exponent));
}

}  // namespace

// The arithmetic works on integers at a common scale: value = integer / 10^scale.
class NumericArithmetic {
 public:
  /// The digits as an integer, shifted so that it counts units of 10^-scale (scale covers all digits).
  static Integer scaled(const Numeric& value, std::int64_t scale) {
    if (value.digits_.empty()) return 0;
    Integer out(value.digits_);
    const std::int64_t shift = scale + value.weight_ - static_cast<std::int64_t>(value.digits_.size());
    if (shift > 0) out *= power_of_ten(shift);
    return value.negative_ ? Integer(-out) : out;
  }

  static Numeric::Outcome make(const Integer& integer, std::int64_t scale) {
    Numeric out;
    const bool negative = integer < 0;
    const std::string digits = Integer(abs(integer)).str();
    out.scale_ = static_cast<std::int32_t>(scale);
    if (integer != 0) out.set_digits(digits, static_cast<std::int64_t>(digits.size()) - scale);
    if (out.weight_ > weight_max) return Numeric::Fault::out_of_range;
    out.negative_ = negative;
    return out;
  }

  /// Quotient rounded half away from zero.
  static Integer divide_rounded(const Integer& a, const Integer& b) {
    Integer quotient;
    Integer rest;
    boost::multiprecision::divide_qr(a, b, quotient, rest);
    if (abs(rest) * 2 >= abs(b)) quotient += (a < 0) == (b < 0) ? 1 : -1;
    return quotient;
  }

  static Numeric::Outcome round(const Integer& integer, std::int64_t from, std::int64_t to) {
    return make(divide_rounded(integer, power_of_ten(from - to)), to);
  }

  /// The first base-10000 digit and its weight, as numeric.c would store the value.
  struct Leading {
    std::int64_t weight = 0;
    int digit = 0;
  };
  static Leading leading(const Numeric& value) {
    if (value.digits_.empty()) return {};
    // weight_ decimal digits stand before the point; groups of four are aligned at the point.
    const std::int64_t last = value.weight_ - 1;  // exponent of the first decimal digit
    const std::int64_t group = last >= 0 ? last / base_digits : -((-last + base_digits - 1) / base_digits);
    const std::int64_t in_group = last - group * base_digits + 1;
    int digit = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(in_group); ++i) {
      digit = digit * 10 + (i < value.digits_.size() ? value.digits_[i] - '0' : 0);
    }
    return {group, digit};
  }

  static std::int32_t division_scale(const Numeric& a, const Numeric& b) {
    const Leading first = leading(a);
    const Leading second = leading(b);
    std::int64_t weight = first.weight - second.weight;
    if (first.digit <= second.digit) --weight;
    std::int64_t scale = division_digits_min - weight * base_digits;
    scale = std::max<std::int64_t>({scale, a.scale_, b.scale_, 0});
    return static_cast<std::int32_t>(std::min<std::int64_t>(scale, division_scale_max));
  }
};

Numeric::Numeric(std::int64_t value) {
  if (value == 0) return;
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  negative_ = value < 0;
  const std::string_view digits(buffer + (negative_ ? 1 : 0), end);
  set_digits(digits, static_cast<std::int64_t>(digits.size()));
}

Numeric Numeric::special(Kind kind) {
  Numeric out;
  out.kind_ = kind;
  return out;
}

/// Drops zeros at both ends; `weight` is the number of `digits` before the decimal point.
void Numeric::set_digits(std::string_view digits, std::int64_t weight) {
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string_view::npos) {
    digits_.clear();
    weight_ = 0;
    return;
  }
  digits.remove_prefix(first);
  digits = digits.substr(0, digits.find_last_not_of('0') + 1);
  digits_ = digits;
  weight -= static_cast<std::int64_t>(first);
  // Beyond the limits the exact weight no longer matters: it is refused or rounded away by who called.
  weight_ = static_cast<std::int32_t>(std::clamp<std::int64_t>(weight, std::numeric_limits<std::int32_t>::min() / 2,
                                                               std::numeric_limits<std::int32_t>::max() / 2));
}

std::optional<Numeric> Numeric::parse(std::string_view text) {
  text = trim(text);
  if (equal_ignoring_case(text, "nan")) return special(Kind::nan);
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (equal_ignoring_case(text, "infinity") || equal_ignoring_case(text, "inf")) {
    return special(negative ? Kind::negative_infinity : Kind::positive_infinity);
  }
  std::string digits;
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (is_digit(text[i])) {
      digits += text[i];
      ++(point ? after : before);
    } else if (text[i] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (digits.empty()) return std::nullopt;
  std::int64_t exponent = 0;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    std::string_view rest = text.substr(i + 1);
    if (!rest.empty() && rest.front() == '+') {
      rest.remove_prefix(1);
      if (!rest.empty() && rest.front() == '-') return std::nullopt;
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (end != rest.data() + rest.size() || rest.empty()) return std::nullopt;
    // numeric.c refuses exponents beyond half of INT_MAX before it looks at the digits.
    if (error != std::errc{} || exponent > 1073741823 || exponent < -1073741823) return std::nullopt;
  }
  Numeric out;
  out.set_digits(digits, before + exponent);
  const std::int64_t scale = std::max<std::int64_t>(after - exponent, 0);
  if (scale > scale_max) {
    // Rounded to the decimals that numeric can hold; far below them it is zero, and needs no arithmetic to know.
    if (out.weight_ < -static_cast<std::int64_t>(scale_max)) {
      out.digits_.clear();
      out.weight_ = 0;
    } else {
      const std::int64_t all =
          std::max<std::int64_t>(static_cast<std::int64_t>(out.digits_.size()) - out.weight_, scale_max);
      const Outcome rounded = NumericArithmetic::round(NumericArithmetic::scaled(out, all), all, scale_max);
      if (std::holds_alternative<Fault>(rounded)) return std::nullopt;
      out = std::get<Numeric>(rounded);
    }
    out.scale_ = scale_max;
  } else {
    out.scale_ = static_cast<std::int32_t>(scale);
  }
  if (out.weight_ > weight_max) return std::nullopt;
  out.negative_ = negative && !out.digits_.empty();
  return out;
}

std::string Numeric::text() const {
  switch (kind_) {
    case Kind::nan:
      return "NaN";
    case Kind::positive_infinity:
      return "Infinity";
    case Kind::negative_infinity:
      return "-Infinity";
    case Kind::finite:
      break;
  }
  std::string out = negative_ ? "-" : "";
  const auto digit_at = [this](std::int64_t place) {  // 0 = first digit of digits_
    return place >= 0 && place < static_cast<std::int64_t>(digits_.size()) ? digits_[static_cast<std::size_t>(place)]
                                                                           : '0';
  };
  if (weight_ <= 0) out += '0';
  for (std::int64_t place = 0; place < weight_; ++place) out += digit_at(place);
  if (scale_ > 0) out += '.';
  for (std::int64_t decimal = 0; decimal < scale_; ++decimal) out += digit_at(weight_ + decimal);
  return out;
}

std::string Numeric::canonical() const {
  if (!finite()) return text();
  if (digits_.empty()) return "0";
  return (negative_ ? "-" : "") + digits_ + 'e' + std::to_string(weight_ - static_cast<std::int64_t>(digits_.size()));
}

Numeric Numeric::trimmed() const {
  Numeric out = *this;
  if (finite()) out.scale_ = std::max(static_cast<std::int32_t>(digits_.size()) - weight_, 0);
  return out;
}

std::optional<std::int64_t> Numeric::exact_int8() const {
  if (!finite()) return std::nullopt;
  if (digits_.empty()) return 0;
  if (weight_ > 19 || static_cast<std::int64_t>(digits_.size()) > weight_) return std::nullopt;
  std::string padded = (negative_ ? "-" : "") + digits_;
  padded.append(static_cast<std::size_t>(weight_) - digits_.size(), '0');
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(padded.data(), padded.data() + padded.size(), out);
  if (error != std::errc{} || end != padded.data() + padded.size()) return std::nullopt;
  return out;
}

std::optional<std::int64_t> Numeric::to_int8() const {
  if (!finite()) return std::nullopt;
  if (weight_ < 0) return 0;
  if (weight_ > 19) return std::nullopt;
  const std::size_t whole = std::min(digits_.size(), static_cast<std::size_t>(weight_));
  std::string padded = digits_.substr(0, whole);
  padded.append(static_cast<std::size_t>(weight_) - whole, '0');
  Integer rounded(padded.empty() ? "0" : padded);
  if (digits_.size() > whole && digits_[whole] >= '5') ++rounded;
  if (negative_) rounded = -rounded;
  if (rounded > std::numeric_limits<std::int64_t>::max() || rounded < std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(rounded);
}

std::strong_ordering operator<=>(const Numeric& a, const Numeric& b) {
  if (a.kind_ != b.kind_ || !a.finite()) return a.kind_ <=> b.kind_;
  if (a.negative_ != b.negative_) return b.negative_ <=> a.negative_;
  std::strong_ordering size = std::strong_ordering::equal;
  if (a.digits_.empty() || b.digits_.empty()) {
    size = !a.digits_.empty() <=> !b.digits_.empty();
  } else if (a.weight_ != b.weight_) {
    size = a.weight_ <=> b.weight_;
  } else {
    size = a.digits_.compare(b.digits_) <=> 0;
  }
  return a.negative_ ? 0 <=> size : size;
}

Numeric Numeric::negated() const {
  Numeric out = *this;
  if (kind_ == Kind::positive_infinity) out.kind_ = Kind::negative_infinity;
  if (kind_ == Kind::negative_infinity) out.kind_ = Kind::positive_infinity;
  if (finite() && !zero()) out.negative_ = !negative_;
  return out;
}

Numeric::Outcome Numeric::add(const Numeric& a, const Numeric& b) {
  if (!a.finite() || !b.finite()) {
    if (a.kind_ == Kind::nan || b.kind_ == Kind::nan) return special(Kind::nan);
    if (a.finite()) return b;
    if (b.finite() || a.kind_ == b.kind_) return a;
    return special(Kind::nan);
  }
  const std::int64_t scale = std::max(a.scale_, b.scale_);
  return NumericArithmetic::make(NumericArithmetic::scaled(a, scale) + NumericArithmetic::scaled(b, scale), scale);
}

Numeric::Outcome Numeric::subtract(const Numeric& a, const Numeric& b) { return add(a, b.negated()); }

Numeric::Outcome Numeric::multiply(const Numeric& a, const Numeric& b) {
  if (!a.finite() || !b.finite()) {
    if (a.kind_ == Kind::nan || b.kind_ == Kind::nan || a.zero() || b.zero()) return special(Kind::nan);
    return special(a.negative() == b.negative() ? Kind::positive_infinity : Kind::negative_infinity);
  }
  const std::int64_t scale = std::int64_t{a.scale_} + b.scale_;
  const Integer product = NumericArithmetic::scaled(a, a.scale_) * NumericArithmetic::scaled(b, b.scale_);
  if (scale > scale_max) return NumericArithmetic::round(product, scale, scale_max);
  return NumericArithmetic::make(product, scale);
}

Numeric::Outcome Numeric::divide(const Numeric& a, const Numeric& b) {
  if (a.kind_ == Kind::nan || b.kind_ == Kind::nan) return special(Kind::nan);
  if (!a.finite()) {
    if (!b.finite()) return special(Kind::nan);
    if (b.zero()) return Fault::division_by_zero;
    return special(a.negative() == b.negative() ? Kind::positive_infinity : Kind::negative_infinity);
  }
  if (!b.finite()) return Numeric(0);
  if (b.zero()) return Fault::division_by_zero;
  const std::int64_t scale = NumericArithmetic::division_scale(a, b);
  const std::int64_t common = std::max(a.scale_, b.scale_);
  const Integer quotient = NumericArithmetic::divide_rounded(NumericArithmetic::scaled(a, common) * power_of_ten(scale),
                                                             NumericArithmetic::scaled(b, common));
  return NumericArithmetic::make(quotient, scale);
}

Numeric::Outcome Numeric::remainder(const Numeric& a, const Numeric& b) {
  if (a.kind_ == Kind::nan || b.kind_ == Kind::nan) return special(Kind::nan);
  if (b.zero()) return Fault::division_by_zero;
  if (!a.finite()) return special(Kind::nan);
  if (!b.finite()) return a;
  const std::int64_t scale = std::max(a.scale_, b.scale_);
  return NumericArithmetic::make(NumericArithmetic::scaled(a, scale) % NumericArithmetic::scaled(b, scale), scale);
}

}  // namespace viewgate::projection
