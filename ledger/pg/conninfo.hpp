// Connection strings, looked at without connecting.
#pragma once

#include <string>

namespace viewgate::ledger::pg {

/// Whether libpq can read it (libpq-connstring); an empty one it can. No name in it is looked up.
[[nodiscard]] bool is_conninfo(const std::string& text);

}  // namespace viewgate::ledger::pg
