// What is in force: the application's model as compiled against the database's tables and captures, and the keys of
// cursors. Immutable; shared by the engine and all reactors; replaced as a whole when the registry moves
// (model_loader.hpp makes it).
//
// Binding turns a caller's subscribe into its group, and says what a cursor of that subscription is bound to (I8).
// Pure.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "auth/principal.hpp"
#include "gateway/cursor.hpp"
#include "gateway/ports.hpp"
#include "gateway/protocol.hpp"
#include "projection/binding.hpp"
#include "projection/model.hpp"

namespace viewgate::gateway {

struct ActiveModel {
  projection::ModelPtr model;  ///< null: none was applied, or nothing of it holds; every view refuses
  std::shared_ptr<const CursorKeys> keys;
  std::string hash;  ///< of the model's text, for logs and `viewgate model show`
  /// Collections whose capture has a hole, and why (for the log): their views refuse until it is mended.
  std::map<std::string, std::string, std::less<>> broken;
  /// Views that do not fit their tables any more (a column was dropped or has another type); the others go on.
  std::set<std::string, std::less<>> left_out;
  /// Why they do not, a line each, for the log.
  std::vector<std::string> problems;
  std::chrono::milliseconds retry_after{1000};  ///< told with `unavailable`
};

/// What all subscriptions of one group share. The engine keeps the first one it sees of each group.
struct GroupSpec {
  GroupSpec(projection::GroupPtr bound, const CursorKeys& keys);

  projection::GroupPtr group;
  GroupId id;
  std::string space;
  std::string channel;
  PositionSealer sealer;
};

/// A subscription that may be opened. `context` is what its cursors must say; `context_token` is sealed from it.
struct Bound {
  GroupSpecPtr spec;
  CursorContext context;
  std::string context_token;
};

/// `text` may be sent as it is.
struct SubscribeRefusal {
  ErrorCode code = ErrorCode::forbidden;
  std::string text;
  std::optional<std::chrono::milliseconds> retry_after;
  std::string cause;  ///< for the operator's log, never sent
};

using BindResult = std::variant<Bound, SubscribeRefusal>;

/// Refusals: forbidden (no such view, or not for this caller, or not in this space: one answer), invalid_view (names
/// the parameter), unavailable (no model in force, or the table's capture has a hole).
[[nodiscard]] BindResult bind_subscription(const ActiveModel& model, const auth::Principal& principal,
                                           const Subscribe& subscribe);

/// The cursor is this subscription's; whether `after` is still in the ledger is the engine's answer.
struct Resume {
  ledger::Position after;
};
struct CursorInvalid {};

using CursorCheck = std::variant<Resume, ResetReason, CursorInvalid>;

/// CursorInvalid: broken, or another principal's, space's, view's or parameters'. ResetReason: view_changed,
/// authorization_changed.
[[nodiscard]] CursorCheck check_cursor(const ActiveModel& model, const Bound& bound, std::string_view cursor);

/// Whether subscriptions of the group may go on under `model`: the view has the same version and its table no hole.
[[nodiscard]] bool still_in_force(const ActiveModel& model, const GroupSpec& spec);

/// Whether nothing that a client could notice differs.
[[nodiscard]] bool is_same(const ActiveModel& one, const ActiveModel& other);

}  // namespace viewgate::gateway
