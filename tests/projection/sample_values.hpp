// Random values of every type that expressions know: small ones that meet, extremes, odd spellings.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace viewgate::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int pick(std::size_t count) { return std::uniform_int_distribution<int>(0, static_cast<int>(count) - 1)(engine_); }
  bool chance(int percent) { return pick(100) < percent; }
  template <class T, std::size_t N>
  const T& one_of(const T (&items)[N]) {
    return items[static_cast<std::size_t>(pick(N))];
  }
  template <class Container>
  const typename Container::value_type& one_of(const Container& items) {
    return items[static_cast<std::size_t>(pick(items.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

/// The table of the differential tests; its first column is its key, `space` is 's1' everywhere. One column of each
/// type, texts of two collations, and columns named as the aliases that SQL of ours may use. Columns are added at the
/// end: rows of old finds leave those out.
inline constexpr const char* sample_columns =
    "id int4 primary key, space text, i2 int2, i4 int4, i8 int8, n numeric, f4 float4, f8 float8, "
    "s text collate \"en-x-icu\", vc varchar(40) collate \"C\", ch char(6), b bool, u uuid, d date, ts timestamp, "
    "tz timestamptz, y bytea, e public.mood, j jsonb, st text[], it int4[], t int4, r text";
/// Labels whose order is not the alphabet's.
inline constexpr const char* sample_enum = "create type public.mood as enum ('sad', 'ok', 'happy', 'Ah, \"so\"')";

/// A value's text, as the type's input function reads it. Types are named as in SQL: "int4", "public.mood", "text[]".
[[nodiscard]] std::string sample_text(Random& random, std::string_view type);
/// The text as a typed literal of SQL, and as JSON for a parameter.
[[nodiscard]] std::string sample_literal(std::string_view type, const std::string& text);
[[nodiscard]] std::string sample_json(std::string_view type, const std::string& text);
/// A pattern for LIKE.
[[nodiscard]] std::string sample_pattern(Random& random);
/// A date or time in one of the forms that the model knows, valid or not.
[[nodiscard]] std::string sample_moment(Random& random);

/// The values of a row behind its id.
[[nodiscard]] std::string sample_row(Random& random);

/// A column of the table of that type, and how the differential tests' SQL says it.
[[nodiscard]] std::pair<std::string, std::string> sample_column(Random& random, std::string_view type);

}  // namespace viewgate::testing
