// What a role needs to serve with the ledger, and what roles have of it: one list, for `viewgate grants`, which prints it as
// statements, and for the doctor, who compares.
#pragma once

#include <string>

namespace viewgate::ledger {

/// A query of statements, one a row, in an order that works: what `viewgate serve` needs; before it what the role was granted in
/// our schema and does not need (by an earlier version, or --revocations). $1: the role's name; $2: whether it may also revoke.
/// On captured tables nothing is revoked: they are the application's.
[[nodiscard]] std::string grants_sql();

/// A query of findings (level, text) as the doctor tells them: whether the role that asks can serve, and who else may read or
/// write the ledger. Run it as the role that nodes connect as.
[[nodiscard]] std::string examine_roles_sql();

}  // namespace viewgate::ledger
