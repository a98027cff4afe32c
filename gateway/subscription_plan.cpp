#include "gateway/subscription_plan.hpp"

namespace viewgate::gateway {

Move next_move(Stage stage, Event event) {
  const Move stay{stage, Action::none};
  if (stage == Stage::ended) return stay;
  if (event == Event::left) return {Stage::ended, Action::none};
  switch (stage) {
    case Stage::joining:
      if (event == Event::joined) return {Stage::bootstrapping, Action::ask_bootstrap};
      if (event == Event::refused) return {Stage::ended, Action::tell_error};
      return stay;
    case Stage::returning:
      if (event == Event::joined) return {Stage::confirming, Action::ask_history};
      if (event == Event::cursor_known) return {Stage::following, Action::tell_resumed};
      if (event == Event::refused) return {Stage::ended, Action::tell_error};
      return stay;
    case Stage::bootstrapping:
      if (event == Event::snapshot_arrived) return {Stage::snapshot, Action::none};
      // A bootstrap that is refused by a reset reason must not be asked for again in the same breath.
      if (event == Event::refused || event == Event::lost) return {Stage::ended, Action::tell_error};
      return stay;
    case Stage::snapshot:
      if (event == Event::snapshot_written) return {Stage::following, Action::tell_ready};
      return stay;
    case Stage::confirming:
      if (event == Event::history_arrived) return {Stage::history, Action::tell_resumed};
      if (event == Event::lost) return {Stage::bootstrapping, Action::start_over};
      if (event == Event::refused) return {Stage::ended, Action::tell_error};
      return stay;
    case Stage::catching_up:
      if (event == Event::history_arrived) return {Stage::history, Action::none};
      if (event == Event::lost) return {Stage::bootstrapping, Action::start_over};
      if (event == Event::refused) return {Stage::ended, Action::tell_error};
      return stay;
    case Stage::history:
      if (event == Event::history_written) return {Stage::following, Action::none};
      return stay;
    case Stage::following:
      if (event == Event::fell_off) return {Stage::catching_up, Action::ask_history};
      return stay;
    case Stage::ended:
      return stay;
  }
  return stay;
}

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::joining:
      return "joining";
    case Stage::returning:
      return "returning";
    case Stage::bootstrapping:
      return "bootstrapping";
    case Stage::snapshot:
      return "snapshot";
    case Stage::confirming:
      return "confirming";
    case Stage::catching_up:
      return "catching_up";
    case Stage::history:
      return "history";
    case Stage::following:
      return "following";
    case Stage::ended:
      return "ended";
  }
  return {};
}

}  // namespace viewgate::gateway
