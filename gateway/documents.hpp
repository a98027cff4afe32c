// The shared documents of a group as text: each is encoded here, once, for everyone.
#pragma once

#include <string>

#include "gateway/active_model.hpp"
#include "ledger/commit.hpp"
#include "projection/projector.hpp"

namespace viewgate::gateway {

/// Appends one commit document and its newline. `sealed`: the position that goes with the final part; it is
/// `events.position` except where a test plants a bug.
void append_events(std::string& out, const GroupSpec& spec, const projection::GroupEvents& events,
                   ledger::Position sealed);

void append_progress(std::string& out, const GroupSpec& spec, ledger::Position position);

}  // namespace viewgate::gateway
