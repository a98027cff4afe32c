#include "gateway/log_line.hpp"

#include "gateway/json_text.hpp"

namespace viewgate::gateway {

std::string_view name_of(ledger::ChangeKind kind) {
  using enum ledger::ChangeKind;
  switch (kind) {
    case created:
      return "created";
    case updated:
      return "updated";
    case deleted:
      return "deleted";
    case moved:
      return "moved";
    case erased:
      return "erased";
  }
  return {};
}

namespace {

void append_member(std::string& out, std::string_view name, std::string_view text) {
  out.append(",\"").append(name).append("\":");
  append_json_string(out, text);
}

void append_raw(std::string& out, std::string_view name, std::string_view json) {
  out.append(",\"").append(name).append("\":").append(json);
}

void append_given(std::string& out, std::string_view name, const std::string& text) {
  if (!text.empty()) append_member(out, name, text);
}

void append_change(std::string& out, const ledger::Change& change) {
  out.append("{\"ordinal\":").append(std::to_string(change.ordinal));
  append_member(out, "kind", name_of(change.kind));
  append_member(out, "collection", change.collection);
  append_raw(out, "key", change.key);
  if (change.before) append_raw(out, "before", *change.before);
  if (change.after) append_raw(out, "after", *change.after);
  if (!change.groups.empty()) {
    out += ",\"groups\":[";
    for (const auto& group : change.groups) {
      append_json_string(out, group);
      out += ',';
    }
    out.back() = ']';
  }
  out += '}';
}

void append_receipt(std::string& out, const ledger::CommitReceipt& receipt) {
  out.append(",\"receipt\":").append(receipt.text);
  append_given(out, "request", receipt.body);
}

}  // namespace

void append_log_line(std::string& out, const ledger::CommitPart& part) {
  out += "{\"space\":";
  append_json_string(out, part.space);
  append_member(out, "sequence", std::to_string(part.position.sequence.value));
  append_member(out, "stamp", std::to_string(part.position.stamp.value));
  append_member(out, "source", part.provenance.source);
  append_member(out, "role", part.provenance.role);
  append_member(out, "at", part.provenance.at);
  append_given(out, "principal", part.provenance.principal);
  append_given(out, "client", part.provenance.client);
  append_given(out, "request_id", part.provenance.request_id);
  if (!part.provenance.fields.empty()) append_raw(out, "fields", part.provenance.fields);
  if (part.first && part.receipt) append_receipt(out, *part.receipt);
  out += ",\"changes\":[";
  for (const auto& change : part.changes) {
    append_change(out, change);
    out += ',';
  }
  if (!part.changes.empty()) out.pop_back();
  out.append("],\"last\":").append(part.last ? "true" : "false").append("}\n");
}

void append_log_end(std::string& out, const ledger::LogPage& page) {
  out.append("{\"next_cursor\":\"").append(std::to_string(page.next_cursor.value));
  out.append("\",\"has_more\":").append(page.has_more() ? "true" : "false");
  append_member(out, "watermark", std::to_string(page.watermark.value));
  append_member(out, "retained_from", std::to_string(page.retained_from.value));
  out += "}\n";
}

}  // namespace viewgate::gateway
