#include "projection/group.hpp"

#include <algorithm>
#include <utility>

#include "projection/json_text.hpp"

namespace viewgate::projection {
namespace {

/// As to_jsonb prints it. The record is inside, so there is a value.
std::string computed(const SelectedColumn& selected, const Record& record) {
  return print_json(selected.expression.type, evaluate(selected.expression, record));
}

}  // namespace

Group::Group(ViewPtr view, std::string space, Expression predicate) : view_(std::move(view)), space_(std::move(space)) {
  std::string key;
  append_field(key, space_);
  append_field(key, view_->version.hex());
  append_canonical(key, predicate, view_->table->layout);
  id_ = digest(key);
  Shaped shaped = view_->shapes->split(std::move(predicate), view_->table->layout);
  shape_ = std::move(shaped.shape);
  values_ = std::move(shaped.values);
}

bool Group::includes(const Record& record) const {
  Truth inside = evaluate_truth(*shape_, record, values_);
  if (inside == Truth::yes && !computes(record)) inside = Truth::error;
  if (inside == Truth::error) evaluation_errors_.fetch_add(1, std::memory_order_relaxed);
  return inside == Truth::yes;
}

bool Group::computes(const Record& record) const {
  return std::none_of(view_->columns.begin(), view_->columns.end(), [&record](const SelectedColumn& selected) {
    return !selected.column && is_fault(evaluate(selected.expression, record));
  });
}

Result<std::optional<std::string>> Group::snapshot_record(std::string_view row) const {
  const auto record = Record::parse(view_->table->layout, row);
  if (!record)
    return Error{errc::malformed_record, view_->table->collection, "a row that is not a JSON object of to_jsonb"};
  if (!in_space(*record) || !includes(*record)) return std::optional<std::string>();
  std::string out = "{\"key\":";
  out += key_of(*record);
  out += ",\"record\":";
  append_record(out, *record);
  out += '}';
  return std::optional<std::string>(std::move(out));
}

void Group::append_record(std::string& out, const Record& record) const {
  char separator = '{';
  for (const SelectedColumn& selected : view_->columns) {
    out += separator;
    out += selected.json_name;
    out += ':';
    if (selected.column) {
      out += record.slice(*selected.column);
    } else {
      out += computed(selected, record);
    }
    separator = ',';
  }
  out += '}';
}

bool Group::append_changed(std::string& out, const Record& before, const Record& after) const {
  bool any = false;
  const auto add = [&](const SelectedColumn& selected, std::string_view text) {
    out += any ? ',' : '{';
    out += selected.json_name;
    out += ':';
    out += text;
    any = true;
  };
  for (const SelectedColumn& selected : view_->columns) {
    if (selected.column) {
      const std::string_view text = after.slice(*selected.column);
      if (before.slice(*selected.column) != text) add(selected, text);
    } else {
      const std::string text = computed(selected, after);
      if (computed(selected, before) != text) add(selected, text);
    }
  }
  if (any) out += '}';
  return any;
}

// From the columns that the client sees, and not from the groups that the log names: a hidden column may have moved others.
bool Group::append_changed_groups(std::string& out, const Record& before, const Record& after) const {
  const Table& table = *view_->table;
  if (table.conflict_groups.empty()) return false;
  const auto moved = [&](std::string_view name) {
    return std::any_of(view_->columns.begin(), view_->columns.end(), [&](const SelectedColumn& selected) {
      return std::any_of(selected.sources.begin(), selected.sources.end(), [&](std::size_t column) {
        return before.slice(column) != after.slice(column) && table.group_of(column) == name;
      });
    });
  };
  char separator = '[';
  const auto add = [&](std::string_view name) {
    if (!moved(name)) return;
    out += std::exchange(separator, ',');
    out += encode_json_string(name);
  };
  for (const ledger::ConflictGroup& group : table.conflict_groups) add(group.name);
  add(ledger::kRecordGroup);
  out += separator == '[' ? "[]" : "]";
  return true;
}

// As jsonb_build_array(…)::text prints it, which is how the ledger keeps keys.
std::string Group::key_of(const Record& record) const {
  std::string out;
  for (const std::size_t column : view_->table->primary_key) {
    out += out.empty() ? "[" : ", ";
    out += record.slice(column);
  }
  out += ']';
  return out;
}

/// A captured row belongs to the space that its space column names, as to_jsonb(row) ->> 'column' prints it.
bool Group::in_space(const Record& record) const {
  if (!view_->table->space_column) return true;
  const std::string_view slice = record.slice(*view_->table->space_column);
  if (slice == "null") return false;
  if (slice.front() != '"') return slice == space_;
  const auto text = decode_json_string(slice);
  return text && *text == space_;
}

}  // namespace viewgate::projection
