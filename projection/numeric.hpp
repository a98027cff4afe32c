// PostgreSQL's numeric: exact decimals of any size, NaN and the infinities. NaN equals NaN and is above everything.
// Kept as decimal digits without leading or trailing zeros, so that comparing and hashing need no arithmetic; the
// display scale (1.10 has two) matters to printing and to division only.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace viewgate::projection {

class Numeric {
 public:
  enum class Kind : std::uint8_t { negative_infinity, finite, positive_infinity, nan };

  Numeric() = default;
  explicit Numeric(std::int64_t value);

  /// numeric's input function: blanks around, sign, digits, point, exponent; "NaN", "Infinity", "inf". Nothing: not a
  /// numeric, or one beyond numeric's range.
  static std::optional<Numeric> parse(std::string_view text);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool finite() const { return kind_ == Kind::finite; }
  [[nodiscard]] bool zero() const { return finite() && digits_.empty(); }
  [[nodiscard]] bool negative() const { return negative_ || kind_ == Kind::negative_infinity; }

  /// numeric's output function.
  [[nodiscard]] std::string text() const;

  /// The same for equal values only: 1.0 and 1.00, 0 and -0 have one.
  [[nodiscard]] std::string canonical() const;

  /// Decimals shown by text().
  [[nodiscard]] std::int32_t scale() const { return scale_; }
  /// The same value with the fewest decimals: 1.10 becomes 1.1.
  [[nodiscard]] Numeric trimmed() const;

  /// Rounded half away from zero. Nothing: NaN, infinite or outside int8.
  [[nodiscard]] std::optional<std::int64_t> to_int8() const;

  /// The integer, where the value is one and fits int8.
  [[nodiscard]] std::optional<std::int64_t> exact_int8() const;

  friend std::strong_ordering operator<=>(const Numeric& a, const Numeric& b);
  friend bool operator==(const Numeric& a, const Numeric& b) { return (a <=> b) == 0; }

  /// Arithmetic fails by name: out_of_range or division_by_zero.
  enum class Fault : std::uint8_t { out_of_range, division_by_zero };
  using Outcome = std::variant<Numeric, Fault>;

  [[nodiscard]] Numeric negated() const;
  [[nodiscard]] static Outcome add(const Numeric& a, const Numeric& b);
  [[nodiscard]] static Outcome subtract(const Numeric& a, const Numeric& b);
  [[nodiscard]] static Outcome multiply(const Numeric& a, const Numeric& b);
  [[nodiscard]] static Outcome divide(const Numeric& a, const Numeric& b);
  [[nodiscard]] static Outcome remainder(const Numeric& a, const Numeric& b);

 private:
  friend class NumericArithmetic;
  static Numeric special(Kind kind);
  void set_digits(std::string_view digits, std::int64_t weight);

  Kind kind_ = Kind::finite;
  bool negative_ = false;
  std::string digits_;       ///< '1'..'9' at both ends; empty = zero
  std::int32_t weight_ = 0;  ///< the value is 0.digits × 10^weight
  std::int32_t scale_ = 0;   ///< decimals shown
};

}  // namespace viewgate::projection
