#include "projection/typescript.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace viewgate::projection {
namespace {

/// Records come from the server; values are what an application hands over, in parameters and mutations.
enum class Direction : std::uint8_t { record, value };

std::string quoted(const std::string& text) { return print_json(Type::text, Value(text)); }

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), fits);
}

std::string member_name(const std::string& name) { return is_identifier(name) ? name : quoted(name); }

/// In an array numbers are read without knowing the column, as parseLossless does it.
NumberForm form_of_elements(NumberForm numbers) {
  return numbers == NumberForm::exact ? NumberForm::lossless : numbers;
}

std::string number_type(Type type, NumberForm numbers, Direction direction) {
  const bool fits = type == Type::int2 || type == Type::int4;
  if (fits || (numbers == NumberForm::json && direction == Direction::record)) return "number";
  const bool is_int8 = type == Type::int8;
  if (direction == Direction::value) return is_int8 ? "number | bigint | string" : "number | string";
  if (numbers == NumberForm::lossless) return is_int8 ? "number | bigint" : "number | bigint | string";
  return is_int8 ? "bigint" : type == Type::numeric ? "string" : "number";
}

std::string enumeration_type(const EnumTypePtr& labels) {
  if (!labels || labels->labels.empty()) return "string";
  std::string out;
  for (const std::string& label : labels->labels) out += (out.empty() ? "" : " | ") + quoted(label);
  return out;
}

std::string element_type(const FullType& type, NumberForm numbers, Direction direction) {
  if (is_number(type.type)) return number_type(type.type, numbers, direction);
  switch (type.type) {
    case Type::boolean:
      return "boolean";
    case Type::enumeration:
      return enumeration_type(type.labels);
    case Type::jsonb:
    case Type::carried:
    case Type::unknown:
      return "unknown";
    default:
      return "string";
  }
}

std::string typescript_type(const FullType& type, NumberForm numbers, Direction direction) {
  if (!type.array) return element_type(type, numbers, direction);
  return "readonly (" + element_type(type, form_of_elements(numbers), direction) + " | null)[]";
}

/// What SQL calls the type, where that says more.
std::string remark(const FullType& type) {
  if (type.type == Type::carried || type.type == Type::enumeration || type.type == Type::text) return "";
  return "  // " + std::string(name(type.type)) + (type.array ? "[]" : "");
}

enum class Presence : std::uint8_t { needed, optional };
enum class Nullable : std::uint8_t { no, yes };

void append_member(std::string& out, const std::string& name, const FullType& type, const std::string& spelling,
                   Presence presence, Nullable nullable) {
  out.append("        readonly ").append(member_name(name)).append(presence == Presence::optional ? "?: " : ": ");
  out.append(spelling).append(nullable == Nullable::yes && spelling != "unknown" ? " | null;" : ";");
  out.append(remark(type)).append("\n");
}

bool is_in_key(const Table& table, std::size_t column) {
  return std::find(table.primary_key.begin(), table.primary_key.end(), column) != table.primary_key.end();
}

FullType type_of(const View& view, const SelectedColumn& selected) {
  return selected.column ? view.table->layout.column(*selected.column).type : selected.expression.full_type();
}

Nullable nullable_of(const View& view, const SelectedColumn& selected) {
  const bool is_there = selected.column && view.table->column_rules[*selected.column].not_null;
  return is_there ? Nullable::no : Nullable::yes;
}

void append_view(std::string& out, const View& view, NumberForm numbers) {
  out.append("    readonly ").append(member_name(view.name)).append(": {\n      readonly record: {\n");
  for (const SelectedColumn& selected : view.columns) {
    const FullType type = type_of(view, selected);
    append_member(out, selected.name, type, typescript_type(type, numbers, Direction::record), Presence::needed,
                  nullable_of(view, selected));
  }
  if (view.parameters.empty()) {
    out += "      };\n      readonly params: Record<string, never>;\n    };\n";
    return;
  }
  out += "      };\n      readonly params: {\n";
  for (const Parameter& parameter : view.parameters) {
    append_member(out, parameter.name, parameter.type, typescript_type(parameter.type, numbers, Direction::value),
                  Presence::needed, Nullable::yes);
  }
  out += "      };\n    };\n";
}

std::string key_type(const Table& table, NumberForm numbers) {
  std::string out;
  for (const std::size_t column : table.primary_key) {
    const std::string type = typescript_type(table.layout.column(column).type, numbers, Direction::value);
    out += (out.empty() ? "" : ", ") + type;
  }
  return "readonly [" + out + "]";
}

/// The key's columns stand in the mutation's key and need not be repeated; they never change.
void append_table(std::string& out, const Table& table, NumberForm numbers) {
  out.append("    readonly ").append(member_name(table.name)).append(": {\n");
  out.append("      readonly key: ").append(key_type(table, numbers)).append(";\n");
  for (const bool is_update : {false, true}) {
    out.append("      readonly ").append(is_update ? "update" : "insert").append(": {\n");
    for (std::size_t i = 0; i < table.layout.size(); ++i) {
      const bool in_key = is_in_key(table, i);
      if (is_update && in_key) continue;
      const RecordLayout::Column& column = table.layout.column(i);
      const bool is_needed = !is_update && !in_key && table.column_rules[i].not_null;
      append_member(out, column.name, column.type, typescript_type(column.type, numbers, Direction::value),
                    is_needed ? Presence::needed : Presence::optional,
                    table.column_rules[i].not_null ? Nullable::no : Nullable::yes);
    }
    out += "      };\n";
  }
  out += "    };\n";
}

/// The function of numbers.ts that reads such a column; empty: parseLossless gives what the type says.
std::string_view reader_of(const FullType& type) {
  if (type.array) return {};
  if (type.type == Type::int8) return "bigint";
  if (type.type == Type::numeric) return "digits";
  return is_float(type.type) ? "float" : std::string_view();
}

/// `views` gets a line for each view with columns that need a reader of their own; `used` the readers.
void append_parser(std::string& views, std::set<std::string_view>& used, const View& view) {
  std::string columns;
  for (const SelectedColumn& selected : view.columns) {
    const std::string_view reader = reader_of(type_of(view, selected));
    if (reader.empty()) continue;
    used.insert(reader);
    columns.append(columns.empty() ? "" : ", ").append(member_name(selected.name)).append(": ").append(reader);
  }
  if (columns.empty()) return;
  views.append("  [").append(quoted(view.name)).append(", columns({ ").append(columns).append(" })],\n");
}

std::string parsers(const Model& model) {
  std::string views;
  std::set<std::string_view> used{"parseLossless"};
  for (const auto& [name, view] : model.views) append_parser(views, used, *view);
  if (!views.empty()) used.insert("columns");
  std::string imports;
  for (const std::string_view each : used) imports.append(imports.empty() ? "" : ", ").append(each);
  return "import { " + imports +
         " } from '@viewgate/client';\n\nconst parsers = new Map<string, (text: string) => unknown>([\n" + views +
         "]);\n\n/** For the options of `connect`: reads records as the types below say. */\n" +
         "export function parse(text: string, view: string): unknown {\n" +
         "  return (parsers.get(view) ?? parseLossless)(text);\n}\n\n";
}

}  // namespace

std::string typescript(const Model& model, NumberForm numbers) {
  std::string out = "// Made by `viewgate types` from the model. Made anew when the model changes, not edited.\n\n";
  if (numbers == NumberForm::exact) out += parsers(model);
  out += "/** For `connect<Model>`: what the views show and are given, and what mutations write. */\n";
  out += "export type Model = {\n  readonly views: {\n";
  for (const auto& [name, view] : model.views) append_view(out, *view, numbers);
  out += "  };\n  readonly tables: {\n";
  for (const auto& [name, table] : model.tables) {
    if (table->kind == TableKind::managed && !table->writes.empty()) append_table(out, *table, numbers);
  }
  out += "  };\n};\n";
  return out;
}

}  // namespace viewgate::projection
