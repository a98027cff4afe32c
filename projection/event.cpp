#include "projection/event.hpp"

namespace viewgate::projection {

std::string_view name(EventKind kind) {
  switch (kind) {
    case EventKind::entered:
      return "entered";
    case EventKind::updated:
      return "updated";
    case EventKind::removed_from_scope:
      return "removed_from_scope";
    case EventKind::deleted:
      return "deleted";
  }
  return "deleted";
}

}  // namespace viewgate::projection
