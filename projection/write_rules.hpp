// Who may write what. Two steps, both pure: at the door each mutation is brought into the form in which PostgreSQL keeps
// it, or refused as malformed; under the space's lock the caller's policies look at the record as it is and as it would be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/mutation.hpp"
#include "projection/column_value.hpp"
#include "projection/model.hpp"

namespace viewgate::projection {

/// A mutation that is not brought into canonical form. invalid_value: it is malformed, and nothing is processed. not_writable: to be
/// rejected by the rules, without its value being looked at. `text` names the place and what would be right; it tells
/// what the model holds, so it is for callers who may write there (CallerRules::may_write).
struct DoorRefusal {
  enum class Kind : std::uint8_t { not_writable, invalid_value };
  Kind kind = Kind::invalid_value;
  std::string text;
  std::size_t mutation = 0;  ///< which one; those before it are in canonical form
};

/// Keys and values become what jsonb prints: a whole record with every column for create and put (one that was not given is
/// null, those of the key are taken from it), the given columns for update. not_writable: no managed table of that
/// name, or no policy lets anybody write it.
[[nodiscard]] std::optional<DoorRefusal> make_canonical(const Model& model, std::vector<ledger::Mutation>& mutations,
                                                        const ValueLimits& limits);

/// The same mutations as one text, whatever the model says: equal for what differs in blanks and in the order of names only.
[[nodiscard]] std::string canonical_text(const std::vector<ledger::Mutation>& mutations);

/// Whether some policy of some table could let the caller write something in that space.
[[nodiscard]] bool may_write_anything(const Model& model, std::string_view claims, std::string_view space);

/// The policies of a model for one caller in one space. As PostgreSQL's row security has it: a record that `using` (of
/// select, and of the command) does not show is not there for update and delete; what `check` does not allow is
/// forbidden. A caller for whom no policy of the command can ever hold is told `forbidden` whatever there is.
class CallerRules final : public ledger::WriteRules {
 public:
  /// For these mutations. `claims`: a JSON object as text; anything else admits nobody.
  CallerRules(ModelPtr model, std::string_view claims, std::string_view space,
              const std::vector<ledger::Mutation>& mutations);
  ~CallerRules() override;

  [[nodiscard]] const ledger::ConflictGroups& groups_of(std::string_view collection) const override;
  [[nodiscard]] std::optional<ledger::Rejection> judge(const ledger::Proposal& proposal) const override;

  /// Whether there is a record on which some policy would let the caller do this.
  [[nodiscard]] bool may_write(const ledger::Mutation& mutation) const;

 private:
  struct TableRules;
  [[nodiscard]] const TableRules* find(std::string_view collection) const;
  [[nodiscard]] static std::optional<ledger::Rejection> judge_new(const TableRules& rules, std::string_view after,
                                                                  bool is_insert);

  ModelPtr model_;
  std::map<std::string, TableRules, std::less<>> tables_;  ///< those of the mutations that somebody may write
};

}  // namespace viewgate::projection
