// Why a record is in a view or not: the pieces of the condition with what each came to, and which of them decided. For
// operators: it tells values of columns that the view does not show.
//
// Whether the record is inside is Group's decision, as for snapshot and stream; the pieces are evaluated beside it, one by
// one, as the model has them and not as they are folded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "projection/binding.hpp"

namespace viewgate::projection {

/// A piece of a condition and what it came to for one record.
struct Verdict {
  std::string origin;     ///< "where", "policy p on t", "select list, as x"; of an outermost piece
  std::string condition;  ///< as the model has it, with every cast that PostgreSQL would choose
  std::string bound;      ///< with the values of the caller and the subscription; empty: there are none in it
  Truth value = Truth::unknown;
  std::string fault;  ///< of an error: which one, where that is known
  bool decides = false;
  std::vector<std::pair<std::string, std::string>> reads;  ///< column and its JSON text, or how long that is
  std::vector<Verdict> pieces;                             ///< of AND, OR and NOT
};

[[nodiscard]] std::string_view name(Truth truth);

/// The innermost pieces that decided.
[[nodiscard]] std::vector<Verdict> deciding(const std::vector<Verdict>& verdicts);

/// Of the innermost pieces that decided `now`, those that were something else for the earlier record; all where none was.
[[nodiscard]] std::vector<Verdict> what_changed(const std::vector<Verdict>& earlier, const std::vector<Verdict>& now);

struct Judgement {
  bool inside = false;
  std::vector<Verdict> verdicts;  ///< all must be true: the conjuncts of WHERE, and the policies of the table as one
};

class Explainer {
 public:
  /// Errors: those of bind().
  [[nodiscard]] static Result<Explainer> make(const ViewPtr& view, std::string_view parameters, std::string_view claims,
                                              std::string_view space);

  [[nodiscard]] const GroupPtr& group() const { return group_; }
  [[nodiscard]] bool admitted() const { return admitted_; }
  /// The policies of the view, one of which must be true.
  [[nodiscard]] const std::vector<Verdict>& admission() const { return admission_; }

  /// `record`: as to_jsonb printed it. errc::malformed_record.
  [[nodiscard]] Result<Judgement> judge(std::string_view record) const;

 private:
  Explainer(BoundValues values, const Binding& binding);

  BoundValues values_;
  GroupPtr group_;
  bool admitted_ = false;
  std::vector<Verdict> admission_;
};

/// Appends the key as the ledger has it, from a JSON array of the primary key's values as they stand on the wire. Absent:
/// done; else what is wrong with it, and what is expected.
[[nodiscard]] std::optional<std::string> append_key(std::string& out, const Table& table, std::string_view given);

}  // namespace viewgate::projection
