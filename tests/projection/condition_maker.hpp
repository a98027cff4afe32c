// Random conditions over a table with a column of each type, as the model has them and as PostgreSQL has them, and
// random rows for it. The same seed makes the same ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "projection/type.hpp"

namespace viewgate::testing {

class ConditionMaker {
 public:
  struct Condition {
    std::string model;   ///< with params.x and claims.x
    std::string sql;     ///< over the alias t, with literals for them
    std::string params;  ///< JSON objects
    std::string claims;
    /// No AND, OR, list or NULL literal in it: PostgreSQL evaluates every operand, so it raises exactly where we have
    /// an error.
    bool strict = true;
  };

  /// The table public.sample; the first column is its key, `space` is 's1' everywhere.
  static constexpr const char* columns =
      "id int4 primary key, space text, i2 int2, i4 int4, i8 int8, n numeric, s text collate \"en-x-icu\", vc "
      "varchar(40) collate \"C\", moment text, b "
      "bool, u uuid,"
      " ts timestamptz";

  explicit ConditionMaker(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] Condition condition();
  /// (value)::text = params.told::text; `sql` is the left side alone.
  [[nodiscard]] Condition printed_value();
  /// The values of a row behind its id.
  [[nodiscard]] std::string row();

 private:
  /// The same thing in both languages.
  struct Both {
    std::string model;
    std::string sql;
  };

  Both truth(int depth);
  Both junction(int depth);
  Both comparison(int depth);
  Both list(int depth);
  Both between(int depth);
  Both quantified(int depth);
  Both value(projection::Type type, int depth);
  Both column(projection::Type type);
  Both computed(projection::Type type, int depth);
  Both cast(projection::Type to, int depth);
  Both literal(projection::Type type);
  Both parameter(projection::Type type);
  Both claim(projection::Type type);
  Both array(projection::Type type);

  /// A value of the type as text, and as JSON.
  std::string text_of(projection::Type type);
  static std::string json_of(projection::Type type, const std::string& text);
  static std::string sql_literal(projection::Type type, const std::string& text);
  projection::Type any_type();
  projection::Type other_number(projection::Type type);
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  bool chance(int percent) { return pick(100) < percent; }
  template <class T, std::size_t N>
  const T& one_of(const T (&items)[N]) {
    return items[static_cast<std::size_t>(pick(static_cast<int>(N)))];
  }

  std::mt19937_64 random_;
  std::vector<std::pair<std::string, std::string>> params_;
  std::vector<std::pair<std::string, std::string>> claims_;
  bool strict_ = true;
};

}  // namespace viewgate::testing
