#include "projection/write_rules.hpp"

#include <algorithm>
#include <utility>

#include "projection/binding.hpp"

namespace viewgate::projection {
namespace {

using ledger::Mutation;
using ledger::MutationKind;
using ledger::Rejection;
using ledger::RejectionReason;

constexpr std::size_t key_bytes_max = 1000;

const Table* writable_table(const Model& model, std::string_view collection) {
  const auto found = model.tables.find(collection);
  if (found == model.tables.end()) return nullptr;
  const Table& table = *found->second;
  return table.kind == TableKind::managed && !table.writes.empty() ? &table : nullptr;
}

/// One mutation on its way into canonical form; an exception ends it and is caught in make_canonical.
struct Unfit {
  DoorRefusal refusal;
};

[[noreturn]] void refuse(const std::string& place, std::string_view what) {
  throw Unfit{{DoorRefusal::Kind::invalid_value, place + ": " + std::string(what)}};
}

[[noreturn]] void refuse(const std::string& place, const std::string& column, std::string_view what) {
  refuse(place + '.' + column, what);
}

class Canonical {
 public:
  Canonical(const Table& table, const ValueLimits& limits, std::string place)
      : table_(table), limits_(limits), place_(std::move(place)) {}

  void apply(Mutation& mutation) {
    const std::vector<std::string> key = key_values(mutation.key);
    mutation.key = "[";
    for (const std::string& each : key) mutation.key += (mutation.key.size() > 1 ? ", " : "") + each;
    mutation.key += ']';
    if (mutation.key.size() > key_bytes_max) {
      refuse(place_ + "key", "is longer than " + std::to_string(key_bytes_max) + " bytes");
    }
    check_bases(mutation);
    if (mutation.kind == MutationKind::remove) return;
    const bool is_whole = mutation.kind != MutationKind::update;
    const std::string where = place_ + (is_whole ? "record" : "changed");
    const Json values = parsed(mutation.value, where);
    if (values.kind != Json::Kind::object) refuse(where, "must be an object");
    refuse_unknown(values, where);
    mutation.value = object_text(values, key, where, is_whole);
  }

 private:
  static Json parsed(const std::string& text, const std::string& where) {
    auto json = parse_json(text);
    if (json) return std::move(*json);
    refuse(
        where,
        "is not JSON that a column can hold: it has a name twice in one object, half of a surrogate pair, or is nested "
        "deeper than " +
            std::to_string(json_depth_max));
  }

  /// The values of the key's columns as jsonb prints them.
  std::vector<std::string> key_values(const std::string& text) const {
    const Json key = parsed(text, place_ + "key");
    if (key.kind != Json::Kind::array || key.items.size() != table_.primary_key.size()) {
      refuse(place_ + "key", "must be an array of " + key_names());
    }
    std::vector<std::string> out;
    for (std::size_t i = 0; i < key.items.size(); ++i) {
      const std::size_t column = table_.primary_key[i];
      const std::string where = place_ + "key[" + std::to_string(i) + "] (" + table_.layout.column(column).name + ")";
      if (key.items[i].kind == Json::Kind::null) refuse(where, "must not be null");
      if (auto fault = append_column_value(out.emplace_back(), table_, column, key.items[i], limits_))
        refuse(where, *fault);
    }
    return out;
  }

  void check_bases(const Mutation& mutation) const {
    for (const ledger::Base& base : mutation.bases) {
      const bool is_known = base.group == ledger::kRecordGroup ||
                            std::any_of(table_.conflict_groups.begin(), table_.conflict_groups.end(),
                                        [&](const ledger::ConflictGroup& group) { return group.name == base.group; });
      if (!is_known) refuse(place_ + "bases." + base.group, "is no conflict group of " + table_.name);
    }
  }

  void refuse_unknown(const Json& values, const std::string& where) const {
    for (const Json::Member& member : values.members) {
      if (!table_.find_column(member.name)) refuse(where, member.name, "is no column of " + table_.name);
    }
  }

  /// In the order in which jsonb has the names, which is the layout's.
  std::string object_text(const Json& values, const std::vector<std::string>& key, const std::string& where,
                          bool is_whole) const {
    static const Json null;
    std::string out = "{";
    for (const std::size_t column : table_.layout.jsonb_order()) {
      const std::string& name = table_.layout.column(column).name;
      const Json* const given = values.find(name);
      const auto in_key = std::find(table_.primary_key.begin(), table_.primary_key.end(), column);
      const bool is_of_key = in_key != table_.primary_key.end();
      if (given == nullptr && !is_whole) continue;
      std::string text;
      const std::string* const of_key =
          is_of_key ? &key[static_cast<std::size_t>(in_key - table_.primary_key.begin())] : nullptr;
      if (given != nullptr || of_key == nullptr) {
        const auto fault = append_column_value(text, table_, column, given != nullptr ? *given : null, limits_);
        if (fault) refuse(where, name, *fault);
      }
      if (of_key != nullptr && given != nullptr && text != *of_key) {
        refuse(where, name, "is not what the key says; a record with another key is another record");
      }
      out += out.size() > 1 ? ", " : "";
      out.append(table_.layout.json_name(column)).append(": ").append(of_key != nullptr ? *of_key : text);
      if (out.size() > limits_.record_bytes) {
        refuse(where, "makes a record larger than " + std::to_string(limits_.record_bytes) + " bytes");
      }
    }
    return out + '}';
  }

  std::string key_names() const {
    std::string out;
    for (const std::size_t column : table_.primary_key)
      out += (out.empty() ? "" : ", ") + table_.layout.column(column).name;
    return out;
  }

  const Table& table_;
  const ValueLimits& limits_;
  const std::string place_;
};

std::string canonical_json(const std::string& text) {
  const auto json = parse_json(text);
  std::string out;
  if (!json || !append_jsonb(out, *json, NumberForm::as_written, std::string::npos)) return text;
  return out;
}

/// Several policies of one command: any of them.
bool any_holds(const std::vector<Expression>& conditions, const Record& record) {
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const Expression& each) { return evaluate_truth(each, record) == Truth::yes; });
}

/// None of them is settled already, for every record.
bool can_hold(const std::vector<Expression>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const Expression& each) {
    return each.kind != Expression::Kind::constant || evaluate_truth(each, Record{}) == Truth::yes;
  });
}

Rejection not_writable() { return {RejectionReason::not_writable, "the collection is not one that mutations write"}; }
Rejection forbidden() { return {RejectionReason::forbidden, "no policy of the table allows this"}; }
/// What the ledger says of a record that is not there: one that may not be touched looks the same.
Rejection not_found() { return {RejectionReason::not_found, "there is no such record"}; }

}  // namespace

std::optional<DoorRefusal> make_canonical(const Model& model, std::vector<Mutation>& mutations,
                                          const ValueLimits& limits) {
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    const std::string place = "mutations[" + std::to_string(i) + "].";
    const Table* const table = writable_table(model, mutations[i].collection);
    if (table == nullptr) {
      return DoorRefusal{DoorRefusal::Kind::not_writable, place + "collection: is not one that mutations write", i};
    }
    try {
      Canonical(*table, limits, place).apply(mutations[i]);
    } catch (const Unfit& unfit) {
      DoorRefusal out = unfit.refusal;
      out.mutation = i;
      return out;
    }
  }
  return std::nullopt;
}

std::string canonical_text(const std::vector<Mutation>& mutations) {
  std::string out = "[";
  for (const Mutation& mutation : mutations) {
    out.append(out.size() > 1 ? ",{\"kind\":\"" : "{\"kind\":\"").append(ledger::name(mutation.kind));
    out.append("\",\"collection\":").append(encode_json_string(mutation.collection));
    out.append(",\"key\":").append(canonical_json(mutation.key));
    if (mutation.kind != MutationKind::remove) {
      const bool is_update = mutation.kind == MutationKind::update;
      out.append(is_update ? ",\"changed\":" : ",\"record\":").append(canonical_json(mutation.value));
    }
    std::map<std::string, std::string> bases;
    for (const ledger::Base& base : mutation.bases) bases[base.group] = std::to_string(base.version.value);
    out += ",\"bases\":{";
    for (const auto& [group, version] : bases) {
      out.append(out.back() == '{' ? "" : ",").append(encode_json_string(group)).append(":\"" + version + "\"");
    }
    out += "}}";
  }
  return out + ']';
}

bool may_write_anything(const Model& model, std::string_view claims, std::string_view space) {
  const auto json = parse_json(claims);
  if (!json || json->kind != Json::Kind::object) return false;
  return std::any_of(model.tables.begin(), model.tables.end(), [&](const auto& entry) {
    const Table& table = *entry.second;
    const auto some_can_hold = [&](const std::vector<Expression>& conditions) {
      std::vector<Expression> bound;
      bound.reserve(conditions.size());
      for (const Expression& each : conditions) bound.push_back(bind_condition(each, *json, space, table.layout));
      return can_hold(bound);
    };
    return table.kind == TableKind::managed &&
           (some_can_hold(table.writes.insert_check) || some_can_hold(table.writes.update_using) ||
            some_can_hold(table.writes.delete_using));
  });
}

struct CallerRules::TableRules {
  const Table* table = nullptr;
  WriteConditions conditions;
  std::vector<Expression> select;  ///< empty: every record is seen

  /// Whether update and delete reach the record as it is.
  [[nodiscard]] bool reaches(const std::vector<Expression>& conditions_of_command, const Record& before) const {
    return any_holds(conditions_of_command, before) && (select.empty() || any_holds(select, before));
  }
};

CallerRules::CallerRules(ModelPtr model, std::string_view claims, std::string_view space,
                         const std::vector<Mutation>& mutations)
    : model_(std::move(model)) {
  const auto json = parse_json(claims);
  if (!json || json->kind != Json::Kind::object) return;
  for (const Mutation& mutation : mutations) {
    const Table* const table = writable_table(*model_, mutation.collection);
    if (table == nullptr || tables_.contains(mutation.collection)) continue;
    const auto bound = [&](const std::vector<Expression>& conditions) {
      std::vector<Expression> out;
      out.reserve(conditions.size());
      for (const Expression& each : conditions) out.push_back(bind_condition(each, *json, space, table->layout));
      return out;
    };
    TableRules rules;
    rules.table = table;
    rules.conditions.insert_check = bound(table->writes.insert_check);
    rules.conditions.update_using = bound(table->writes.update_using);
    rules.conditions.update_check = bound(table->writes.update_check);
    rules.conditions.delete_using = bound(table->writes.delete_using);
    for (const Policy& policy : table->policies) {
      rules.select.push_back(bind_condition(policy.predicate, *json, space, table->layout));
    }
    tables_.emplace(mutation.collection, std::move(rules));
  }
}

CallerRules::~CallerRules() = default;

const CallerRules::TableRules* CallerRules::find(std::string_view collection) const {
  const auto found = tables_.find(collection);
  return found == tables_.end() ? nullptr : &found->second;
}

const ledger::ConflictGroups& CallerRules::groups_of(std::string_view collection) const {
  static const ledger::ConflictGroups none;
  const TableRules* const rules = find(collection);
  return rules == nullptr ? none : rules->table->conflict_groups;
}

bool CallerRules::may_write(const Mutation& mutation) const {
  const TableRules* const rules = find(mutation.collection);
  if (rules == nullptr) return false;
  const WriteConditions& conditions = rules->conditions;
  switch (mutation.kind) {
    case MutationKind::create:
      return can_hold(conditions.insert_check);
    case MutationKind::update:
      return can_hold(conditions.update_using);
    case MutationKind::put:
      return can_hold(conditions.insert_check) || can_hold(conditions.update_using);
    case MutationKind::remove:
      return can_hold(conditions.delete_using);
  }
  return false;
}

std::optional<Rejection> CallerRules::judge(const ledger::Proposal& proposal) const {
  const Mutation& mutation = proposal.mutation;
  const TableRules* const rules = find(mutation.collection);
  if (writable_table(*model_, mutation.collection) == nullptr) return not_writable();
  if (rules == nullptr || !may_write(mutation)) return forbidden();
  if (mutation.kind == MutationKind::create || (mutation.kind == MutationKind::put && !proposal.before)) {
    return proposal.after ? judge_new(*rules, *proposal.after, true) : std::nullopt;
  }
  if (!proposal.before) return std::nullopt;
  const auto before = Record::parse(rules->table->layout, *proposal.before);
  const bool is_remove = mutation.kind == MutationKind::remove;
  const auto& conditions = is_remove ? rules->conditions.delete_using : rules->conditions.update_using;
  if (!before || !rules->reaches(conditions, *before)) {
    return mutation.kind == MutationKind::put ? forbidden() : not_found();
  }
  return is_remove || !proposal.after ? std::nullopt : judge_new(*rules, *proposal.after, false);
}

std::optional<Rejection> CallerRules::judge_new(const TableRules& rules, std::string_view after, bool is_insert) {
  const Table& table = *rules.table;
  const auto record = Record::parse(table.layout, after);
  const auto& checks = is_insert ? rules.conditions.insert_check : rules.conditions.update_check;
  if (!record || !any_holds(checks, *record)) return forbidden();
  for (std::size_t column = 0; column < table.layout.size(); ++column) {
    if (!table.column_rules[column].not_null || record->slice(column) != "null") continue;
    // Values are checked at the door; what is missing here was missing before the model asked for it.
    return Rejection{RejectionReason::constraint,
                     "the column " + table.layout.column(column).name + " must not be null"};
  }
  return std::nullopt;
}

}  // namespace viewgate::projection
