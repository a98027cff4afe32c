// POST /v1/revocations on the operators' port: what `viewgate revoke` does, for programs.
//
//   {"principal": "ada"}  or  {"token_id": "7f3c"}, and where wanted "issuer": "https://id.example", "for": "720h"
//
// Answered {"revocation": 12} once it is committed; within a second no node lets anything of the scope out any more.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include "gateway/admin_door.hpp"
#include "ledger/access_store.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::gateway {

/// The longest that one may last: viewgate.revoke() refuses more.
inline constexpr std::chrono::hours revocation_lasting_max{24 * 365 * 100};

/// The order, or what is wrong with the text: it names the member.
[[nodiscard]] std::variant<ledger::RevocationOrder, std::string> parse_revocation(std::string_view text);

/// `io` is the store's; both outlive the door.
void add_revocations(AdminDoor& door, boost::asio::io_context& io, ledger::AccessStore& store);

}  // namespace viewgate::gateway
