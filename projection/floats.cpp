#include "projection/floats.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace viewgate::projection {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// float.c's checks of a result: `exact_infinity`, an operand was infinite; `exact_zero`, zero is the true result.
template <class Float>
Value checked(Float result, bool exact_infinity, bool exact_zero) {
  if (std::isinf(result) && !exact_infinity) return Fault::out_of_range;
  if (result == Float{0} && !exact_zero) return Fault::out_of_range;
  return static_cast<double>(result);
}

template <class Float>
Value compute(FloatOp op, Float a, Float b) {
  const bool infinite = std::isinf(a) || std::isinf(b);
  switch (op) {
    case FloatOp::add:
      return checked<Float>(a + b, infinite, true);
    case FloatOp::subtract:
      return checked<Float>(a - b, infinite, true);
    case FloatOp::multiply:
      return checked<Float>(a * b, infinite, a == Float{0} || b == Float{0});
    case FloatOp::divide:
      if (b == Float{0} && !std::isnan(a)) return Fault::division_by_zero;
      return checked<Float>(a / b, std::isinf(a), a == Float{0} || std::isinf(b));
  }
  return Fault::malformed_value;
}

/// The end of an interval between two doubles has no more digits than this.
constexpr int digits_max = 800;

/// Whether the decimal digits are that value, and not only near enough to be rounded to it.
bool is_exactly(const std::string& digits, long double value) {
  if (std::strtold(digits.c_str(), nullptr) != value) return false;
  std::array<char, digits_max + 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*Le", digits_max, value);
  const auto exact = Numeric::parse(buffer.data());
  const auto given = Numeric::parse(digits);
  return exact && given && exact->canonical() == given->canonical();
}

/// As PostgreSQL's variant of Ryu prints it: the fewest digits strictly inside the interval of what reads back as `value`,
/// while to_chars also takes a digit string at the end of that interval. The ends are exact in the next wider type.
template <class Float>
std::string shortest(Float value) {
  using Wide = long double;
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  const Wide low = (Wide{value} + Wide{std::nextafter(value, -infinity)}) / 2;
  const Wide high = (Wide{value} + Wide{std::nextafter(value, infinity)}) / 2;
  const auto is_inside = [&](const std::string& digits) {
    Float back = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), back);
    return back == value && !is_exactly(digits, low) && !is_exactly(digits, high);
  };
  std::array<char, 64> buffer{};
  const auto whole = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  std::string out(buffer.data(), whole.ptr);
  const std::size_t point = out.find('.');
  int decimals = point == std::string::npos ? 0 : static_cast<int>(out.find('e') - point) - 1;
  while (!is_inside(out) && decimals < std::numeric_limits<Float>::max_digits10) {
    const auto some =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, ++decimals);
    out.assign(buffer.data(), some.ptr);
  }
  return out;
}

}  // namespace

// strtod, as float.c does it: in the C locale, which is the process's own unless somebody sets another.
Value parse_float(Type type, std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.empty() || text.find('\0') != std::string_view::npos) return Fault::invalid_text;
  const std::string digits(text);
  char* end = nullptr;
  errno = 0;
  double value = 0;
  bool out_of_range = false;
  if (type == Type::float4) {
    const float narrow = std::strtof(digits.c_str(), &end);
    out_of_range = errno == ERANGE && (narrow == 0 || std::isinf(narrow));
    value = static_cast<double>(narrow);
  } else {
    value = std::strtod(digits.c_str(), &end);
    out_of_range = errno == ERANGE && (value == 0 || std::isinf(value));
  }
  if (end != digits.c_str() + digits.size()) return Fault::invalid_text;
  if (out_of_range) return Fault::out_of_range;
  return value;
}

std::string print_float(Type type, double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return type == Type::float4 ? shortest(static_cast<float>(value)) : shortest(value);
}

std::strong_ordering compare_floats(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) <=> std::isnan(b);
  if (a < b) return std::strong_ordering::less;
  return a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

Value float_arithmetic(FloatOp op, Type type, double a, double b) {
  if (type == Type::float4) return compute<float>(op, static_cast<float>(a), static_cast<float>(b));
  return compute<double>(op, a, b);
}

Value numeric_to_float(Type type, const Numeric& value) { return parse_float(type, value.text()); }

Value float_to_integer(Type type, double value) {
  const double rounded = std::rint(value);
  constexpr double limit = 9223372036854775808.0;
  if (std::isnan(rounded) || rounded < -limit || rounded >= limit) return Fault::out_of_range;
  const auto integer = static_cast<std::int64_t>(rounded);
  if (!in_range(type, integer)) return Fault::out_of_range;
  return integer;
}

Value float_to_numeric(Type from, double value) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), from == Type::float4 ? "%.6g" : "%.15g", value);
  auto out = Numeric::parse(std::isfinite(value) ? std::string(buffer.data()) : print_float(from, value));
  if (!out) return Fault::out_of_range;
  return std::move(*out);
}

Value narrow_float(double value) {
  const auto narrow = static_cast<float>(value);
  if (std::isinf(narrow) && !std::isinf(value)) return Fault::out_of_range;
  if (narrow == 0.0F && value != 0.0) return Fault::out_of_range;
  return static_cast<double>(narrow);
}

}  // namespace viewgate::projection
