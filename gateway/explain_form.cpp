// How an explanation looks: as JSON for programs and as lines for people.
#include "gateway/explain.hpp"
#include "projection/json_text.hpp"

namespace viewgate::gateway {
namespace {

using projection::StoryEvent;
using projection::Verdict;
using Verdicts = std::vector<Verdict>;

constexpr std::string_view boolean(bool value) { return value ? "true" : "false"; }

/// `name`: a JSON string.
void append_named(std::string& out, std::string_view name, std::string_view json) {
  if (out.back() != '{') out += ',';
  out.append(name).append(":").append(json);
}

void append_member(std::string& out, std::string_view name, std::string_view json) {
  append_named(out, "\"" + std::string(name) + "\"", json);
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  append_member(out, name, projection::encode_json_string(text));
}

void append_given(std::string& out, std::string_view name, std::string_view text) {
  if (!text.empty()) append_text(out, name, text);
}

std::string verdicts_json(const Verdicts& verdicts);

std::string verdict_json(const Verdict& verdict) {
  std::string out = "{";
  append_given(out, "of", verdict.origin);
  append_text(out, "condition", verdict.condition);
  append_given(out, "bound", verdict.bound);
  append_text(out, "value", projection::name(verdict.value));
  append_given(out, "error", verdict.fault);
  append_member(out, "decides", boolean(verdict.decides));
  if (!verdict.reads.empty()) {
    std::string reads = "{";
    for (const auto& [column, json] : verdict.reads) append_named(reads, projection::encode_json_string(column), json);
    append_member(out, "reads", reads + "}");
  }
  if (!verdict.pieces.empty()) append_member(out, "pieces", verdicts_json(verdict.pieces));
  return out + "}";
}

std::string verdicts_json(const Verdicts& verdicts) {
  std::string out = "[";
  for (const Verdict& each : verdicts) out.append(out.size() > 1 ? "," : "").append(verdict_json(each));
  return out + "]";
}

std::string model_json(const ledger::ModelOfLedger& model) {
  std::string out = "{";
  append_member(out, "version", std::to_string(model.version));
  append_text(out, "hash", model.hash);
  append_text(out, "since", model.since);
  return out + "}";
}

/// Where to go on with what is older.
std::string next_before(const ExplainAnswer& answer) { return std::to_string(answer.events.front().sequence.value); }

std::string_view began(const ExplainAnswer& answer) {
  if (!answer.began_inside) return "unknown";
  return *answer.began_inside ? "inside" : "outside";
}

/// A line for each piece; under it what the piece read, and its own pieces further in.
void append_lines(std::string& out, const Verdicts& verdicts, std::size_t indent) {
  for (const Verdict& verdict : verdicts) {
    out.append(indent, ' ').append(verdict.decides ? "* " : "  ");
    std::string value(projection::name(verdict.value));
    if (!verdict.fault.empty()) value += " (" + verdict.fault + ")";
    out.append(value).append(value.size() < 6 ? 6 - value.size() : 1, ' ');
    if (!verdict.origin.empty()) out.append(verdict.origin).append(": ");
    out.append(verdict.condition);
    if (!verdict.bound.empty() && verdict.pieces.empty()) out.append("   which is ").append(verdict.bound);
    for (const auto& [column, json] : verdict.reads) out.append("   ").append(column).append(" = ").append(json);
    out += '\n';
    append_lines(out, verdict.pieces, indent + 4);
  }
}

std::string event_line(const StoryEvent& event, const ledger::ModelOfLedger& model) {
  std::string out = "  " + std::to_string(event.sequence.value) + "  " + event.what;
  const auto& from = event.provenance;
  if (event.moved) out += " (it belongs to another space now)";
  if (!event.changed.empty()) {
    out += " (";
    for (const auto& name : event.changed) out.append(out.back() == '(' ? "" : ", ").append(name);
    out += ')';
  }
  if (!from.at.empty()) out += "  at " + from.at;
  if (!from.principal.empty()) out += "  by " + from.principal;
  if (!from.role.empty()) out += "  as " + from.role + " (" + from.source + ")";
  if (!from.request_id.empty()) out += "  request " + from.request_id;
  if (is_judged_later(event, model)) out += "  before this model: judged by it all the same";
  return out + "\n";
}

std::string first_line(const ExplainAnswer& answer) {
  std::string out = "record " + answer.key + " of " + answer.collection + " is ";
  out += answer.inside ? "inside " : "outside ";
  out += "the view " + answer.question.view + " of space " + answer.question.space;
  out += " at sequence " + std::to_string(answer.sequence.value);
  if (!answer.exists) out += ": the space has no such record now";
  return out + "\n";
}

}  // namespace

bool is_judged_later(const StoryEvent& event, const ledger::ModelOfLedger& model) {
  // Both are of one form, so they compare as texts. An erased commit is not judged; one that is not in the log has no time.
  return event.what != "erased" && !event.provenance.at.empty() && event.provenance.at < model.since;
}

std::string explain_event_json(const StoryEvent& event, const ledger::ModelOfLedger& model) {
  std::string out = "{";
  append_text(out, "sequence", std::to_string(event.sequence.value));
  append_text(out, "what", event.what);
  append_given(out, "at", event.provenance.at);
  append_given(out, "source", event.provenance.source);
  append_given(out, "role", event.provenance.role);
  append_given(out, "principal", event.provenance.principal);
  append_given(out, "client", event.provenance.client);
  append_given(out, "request_id", event.provenance.request_id);
  if (is_judged_later(event, model)) append_text(out, "judged_by", "current");
  if (event.moved) append_member(out, "moved", "true");
  if (!event.reasons.empty()) append_member(out, "because", verdicts_json(event.reasons));
  if (!event.changed.empty()) {
    std::string names = "[";
    for (const auto& name : event.changed)
      names.append(names.size() > 1 ? "," : "").append(projection::encode_json_string(name));
    append_member(out, "changed", names + "]");
  }
  return out + "}";
}

std::string explain_json(const ExplainAnswer& answer) {
  std::string out = "{";
  append_text(out, "space", answer.question.space);
  append_text(out, "view", answer.question.view);
  append_text(out, "version", answer.version);
  append_member(out, "model", model_json(answer.model));
  append_text(out, "collection", answer.collection);
  append_member(out, "record", answer.key);
  append_text(out, "sequence", std::to_string(answer.sequence.value));
  append_member(out, "exists", boolean(answer.exists));
  append_member(out, "inside", boolean(answer.inside));
  append_member(out, "conditions", verdicts_json(answer.verdicts));
  append_member(out, "admitted", boolean(answer.admitted));
  append_member(out, "policies", verdicts_json(answer.admission));
  std::string history = "{";
  append_text(history, "retained_from", std::to_string(answer.retained_from.value));
  append_text(history, "began", began(answer));
  append_member(history, "left_out", std::to_string(answer.left_out));
  if (answer.left_out > 0) append_text(history, "next_before", next_before(answer));
  std::string events = "[";
  for (const StoryEvent& event : answer.events)
    events.append(events.size() > 1 ? "," : "").append(explain_event_json(event, answer.model));
  append_member(history, "events", events + "]");
  append_member(out, "history", history + "}");
  return out + "}";
}

std::string explain_text(const ExplainAnswer& answer) {
  std::string out = first_line(answer);
  append_lines(out, answer.verdicts, 2);
  out += answer.admitted ? "such a caller is admitted\n" : "such a caller is not admitted";
  if (!answer.admitted) out += answer.admission.empty() ? ": no policy is on the view\n" : "\n";
  append_lines(out, answer.admission, 2);
  out += "judged by version " + answer.version + " of the view, of model " + std::to_string(answer.model.version) +
         " (hash " + answer.model.hash + "), in force since " + answer.model.since + "\n";
  out += "the log reaches back to sequence " + std::to_string(answer.retained_from.value) + "; before that it was " +
         std::string(began(answer)) + "\n";
  if (answer.left_out > 0)
    out += "  " + std::to_string(answer.left_out) + " older events: --before " + next_before(answer) + " shows them\n";
  for (const StoryEvent& event : answer.events) {
    out += event_line(event, answer.model);
    append_lines(out, event.reasons, 6);
  }
  return out;
}

}  // namespace viewgate::gateway
