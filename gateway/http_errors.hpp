// The answers of the doors beside the socket where something is wrong: the same `error` documents as on a socket, with the
// status that says it to those who read no documents.
#pragma once

#include <string>

#include "gateway/http_api.hpp"
#include "gateway/protocol.hpp"

namespace viewgate::gateway {

[[nodiscard]] int status_of(ErrorCode code);

/// The whole response; with Retry-After, in seconds, where the error says when.
[[nodiscard]] std::string error_text(int status, const Error& error);

[[nodiscard]] Error bad_request(std::string text);

// The whole answer to a request.

void send(HttpReply& reply, std::string text);
void say(HttpReply& reply, int status, const Error& error);
inline void say(HttpReply& reply, const Error& error) { say(reply, status_of(error.code), error); }

}  // namespace viewgate::gateway
