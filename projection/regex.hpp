// `~` and `~*`: the part of PostgreSQL's regular expressions that means the same in RE2, which matches in time linear in
// the text. The pattern is read here and written anew for RE2, so nothing that the two read differently gets through.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace viewgate::projection {

class Regex {
 public:
  enum class Case { sensitive, ignored };

  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  /// Or why the pattern is refused, and what would work.
  static std::variant<std::shared_ptr<const Regex>, std::string> compile(std::string_view pattern, Case letters);

  /// Whether the pattern matches anywhere in the text (UTF-8).
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct Program;
  explicit Regex(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};
using RegexPtr = std::shared_ptr<const Regex>;

}  // namespace viewgate::projection
