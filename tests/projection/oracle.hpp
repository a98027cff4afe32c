// PostgreSQL beside the evaluator: a table of sample rows, questions put to both, and what each says for each row.
#pragma once

#include <string>
#include <vector>

#include "projection/catalog.hpp"
#include "projection/expression_maker.hpp"
#include "projection/group.hpp"
#include "support/pg_session.hpp"

namespace viewgate::testing {

/// One answer: true, false, null, a value as to_jsonb prints it, or "error …".
struct Answers {
  std::vector<std::string> theirs;
  std::vector<std::string> ours;
  std::vector<std::string> rows;       ///< keys of records that are inside
  std::string narrowed = "";           ///< the query that a bootstrap would ask; empty for values
  std::vector<std::string> read = {};  ///< keys that it gives; "error …" where it raises
  std::string torn = "";               ///< what of ours contradicts itself
  std::string refused = "";            ///< the model parser's problem: there are no answers
};

class Oracle {
 public:
  Oracle();

  /// The rows of the table from here on; each is a list of values behind the id.
  void fill(const std::vector<std::string>& rows);
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  [[nodiscard]] std::vector<Answers> ask(const std::vector<Question>& questions);

  /// What is wrong with the answer at that place, or nothing.
  [[nodiscard]] static std::string difference(const Question& question, const Answers& answers, std::size_t place);
  /// What is wrong with the roads to the answer: a record inside is not among those that a bootstrap reads, reading
  /// raises, or the index does not find the group for it.
  [[nodiscard]] static std::string missing(const Answers& answers);

 private:
  [[nodiscard]] std::vector<std::vector<std::string>> arrays_of(const std::string& function,
                                                                const std::vector<std::string>& texts);
  void ask_ours(const Question& question, Answers& answers);

  PgSession session_;
  projection::Catalog catalog_;
  std::vector<std::string> texts_;
};

/// A question and the row that it differs for, as a file keeps it.
struct Find {
  Question question;
  std::string row;
};
[[nodiscard]] std::string print_find(const Find& find);
[[nodiscard]] Find read_find(const std::string& text);

}  // namespace viewgate::testing
