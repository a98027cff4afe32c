// What a commit does to one record of a view.
#pragma once

#include <cstdint>
#include <string_view>

namespace viewgate::projection {

enum class EventKind : std::uint8_t {
  entered,             ///< outside before, inside after: the full representation
  updated,             ///< inside both: the visible columns whose text changed
  removed_from_scope,  ///< inside before, outside after or moved to another space: the key and nothing else
  deleted              ///< inside before, and the record is gone
};

/// As on the wire.
[[nodiscard]] std::string_view name(EventKind kind);

}  // namespace viewgate::projection
