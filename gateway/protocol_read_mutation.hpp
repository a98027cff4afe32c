// The reader of mutations, for both doors. What it checks is their shape; whether a value is one of its column is the
// model's to say (projection/write_rules).
#pragma once

#include "gateway/protocol.hpp"
#include "gateway/protocol_members.hpp"

namespace viewgate::gateway {

/// Throw Refused.
[[nodiscard]] Mutate read_mutate(const Members& members);
[[nodiscard]] AskReceipts read_ask_receipts(const Members& members);

/// In these levels of a message no name may come twice; what lies deeper is the record of a mutation, where it is a
/// value that no column can hold.
inline constexpr std::size_t mutation_envelope_depth = 3;

}  // namespace viewgate::gateway
