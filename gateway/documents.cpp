#include "gateway/documents.hpp"

#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {

void append_events(std::string& out, const GroupSpec& spec, const projection::GroupEvents& events,
                   ledger::Position sealed) {
  const auto sequence = events.position.sequence.value;
  if (events.last) {
    append_commit(out, spec.channel, sequence, spec.sealer.seal(sealed), events.events, events.at, events.request_id);
  } else {
    append_commit_part(out, spec.channel, sequence, events.events);
  }
  out += '\n';
}

void append_progress(std::string& out, const GroupSpec& spec, ledger::Position position) {
  append_progress(out, spec.channel, position.sequence.value, spec.sealer.seal(position));
  out += '\n';
}

}  // namespace viewgate::gateway
