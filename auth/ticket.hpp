// Tickets: a random text that stands for a token, once and for a short while. What a database keeps of one is a digest to find it
// by and the token sealed under a key that only the ticket itself gives, so that whoever reads the database has neither.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace viewgate::auth {

/// How many characters a ticket has: 32 random bytes in base64url.
inline constexpr std::size_t ticket_chars = 43;

struct Ticket {
  std::string text;    ///< for its holder alone
  std::string digest;  ///< base64url of a SHA-256
  std::string sealed;  ///< base64url of the token under AES-256-GCM
};

/// Throws std::runtime_error: there are no random bytes.
[[nodiscard]] Ticket make_ticket(std::string_view token);

/// Absent: this is no ticket's form.
[[nodiscard]] std::optional<std::string> ticket_digest(std::string_view ticket);

/// The token. Absent: it was not sealed for this ticket.
[[nodiscard]] std::optional<std::string> open_ticket(std::string_view ticket, std::string_view sealed);

}  // namespace viewgate::auth
