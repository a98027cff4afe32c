// The Inspector: a page on the operators' port, GET /inspector, made of the files in gateway/inspector, which are in the
// program. It shows nothing before the operators' credential was typed in, keeps that for as long as the browser's tab is
// open, and sends it in the header that every program sends.
#pragma once

#include <span>
#include <string_view>

#include "gateway/admin_door.hpp"

namespace viewgate::gateway {

struct InspectorFile {
  std::string_view name;
  std::string_view type;  ///< of its content
  std::string_view text;
};
[[nodiscard]] std::span<const InspectorFile> inspector_files();

/// Before the door starts.
void add_inspector(AdminDoor& door);

}  // namespace viewgate::gateway
