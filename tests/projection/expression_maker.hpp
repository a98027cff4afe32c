// Random expressions as trees of templates, in the model's language and in PostgreSQL's: the same seed makes the same
// ones, and a tree that shows a difference can be made smaller.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "projection/sample_values.hpp"

namespace viewgate::testing {

/// One expression. In the templates $1, $2 … stand for the children, and $v for a value of the caller.
struct Made {
  enum class Leaf : std::uint8_t { none, column, literal, parameter, claim };
  std::string type;  ///< as SQL names it
  std::string model;
  std::string sql;
  std::string json;  ///< of a parameter or claim; empty: it is absent
  Leaf leaf = Leaf::none;
  /// PostgreSQL may leave out an operand, or evaluates one that we do not: errors then prove nothing.
  bool lazy = false;
  std::vector<Made> children;
};

/// Ready to be asked.
struct Question {
  std::string type;
  std::string model;  ///< with params.x and claims.x
  std::string sql;    ///< over the alias t, with literals for them
  std::string params = "{}";
  std::string claims = "{}";
  /// It raises exactly where we have an error.
  bool strict = true;
};
[[nodiscard]] Question render(const Made& made);

/// A way to make an expression of a type out of others.
struct Form {
  std::string result;
  std::string model;
  std::string sql;
  /// Types; with ~ before it, a value without a type where one of that type is expected; "pattern" for LIKE, "moment" for the text of a time.
  std::vector<std::string> arguments;
  bool lazy = false;
};
/// Forms by the type of their result, in kinds that are chosen equally often.
using FormsByType = std::map<std::string, std::vector<std::vector<Form>>, std::less<>>;
[[nodiscard]] const FormsByType& forms();
[[nodiscard]] const std::vector<std::string>& scalar_types();

class ExpressionMaker {
 public:
  explicit ExpressionMaker(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] Made condition() { return make("bool", 1 + random_.pick(4)); }
  /// For a select list: of any type, from columns and constants.
  [[nodiscard]] Made value();
  [[nodiscard]] std::string row() { return sample_row(random_); }

  /// Trees that are smaller than this one, and may show the same.
  [[nodiscard]] static std::vector<Made> smaller(const Made& made);

 private:
  Made make(std::string_view type, int depth);
  Made leaf(std::string_view type);
  Made value_leaf(std::string_view type, const std::string& text);
  Made untyped(std::string_view type);

  Random random_;
  bool caller_ = true;
};

}  // namespace viewgate::testing
