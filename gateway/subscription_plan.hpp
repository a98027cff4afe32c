// What a subscription does next, as a table: no I/O, no clock, no memory of its own. Subscription runs it.
//
//   joining ──► bootstrapping ──► snapshot ──► following ◄──► catching_up ──► history ─┐
//   returning ──► confirming ─────────────────► history ──────────► following ◄────────┘
//
// Live, lagging and catching up are the same motion: following reads the group's ring; whoever falls off it asks for
// the ledger's history and comes back. What has ended stays ended.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace viewgate::gateway {

enum class Stage : std::uint8_t {
  joining,        ///< new; waits until the engine follows the group
  returning,      ///< the same, with a cursor
  bootstrapping,  ///< asked for a snapshot
  snapshot,       ///< writes the snapshot's chunks
  confirming,     ///< asked for the history after the cursor, whose answer says whether the cursor is of this ledger
  catching_up,    ///< asked for the history after what was written last
  history,        ///< writes a history
  following,      ///< reads the ring
  ended
};
inline constexpr std::size_t stage_count = 9;

enum class Event : std::uint8_t {
  joined,        ///< the engine follows the group
  cursor_known,  ///< the cursor's very position is in the ring: nothing has to be asked
  snapshot_arrived,
  snapshot_written,
  history_arrived,
  history_written,
  fell_off,  ///< the ring does not hold what comes next
  lost,      ///< the engine cannot continue this state, by a reset reason
  refused,   ///< the engine could not answer, by an error code
  left       ///< unsubscribed, or the socket is gone
};
inline constexpr std::size_t event_count = 10;

enum class Action : std::uint8_t {
  none,
  ask_bootstrap,
  ask_history,
  tell_ready,    ///< the set is complete at the snapshot's sequence
  tell_resumed,  ///< subscribed {resumed}, then ready at the cursor
  start_over,    ///< reset_required, then a bootstrap
  tell_error     ///< the subscription ends
};

struct Move {
  Stage stage;
  Action action;
  friend bool operator==(const Move&, const Move&) = default;
};

/// An event that means nothing in a stage (an answer that nobody waits for any more) changes nothing.
[[nodiscard]] Move next_move(Stage stage, Event event);

[[nodiscard]] std::string_view name(Stage stage);

}  // namespace viewgate::gateway
