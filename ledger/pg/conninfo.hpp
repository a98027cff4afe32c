// Connection strings, looked at without connecting.
#pragma once

#include <string>

namespace viewgate::ledger::pg {

/// Whether libpq can read it (libpq-connstring); an empty one it can. No name in it is looked up. Nor where a password is written in an
/// address with signs that would have to be percent-encoded there, and libpq reads something else.
[[nodiscard]] bool is_conninfo(const std::string& text);

}  // namespace viewgate::ledger::pg
