// What leads from a user's error to the lines of the log: the id of the connection, which its answers and its lines carry, and the
// trace that whoever opened it belongs to (W3C Trace Context). A request over HTTP has a connection of its own, so its id is one
// of a request, too. Ids are no secrets, and nothing is decided by them.
#pragma once

#include <string>
#include <string_view>

#include "gateway/http_head.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway {

inline constexpr std::string_view request_id_header = "X-Request-Id";

struct Correlation {
  std::string id;           ///< 16 random hexadecimal digits, or what a trusted proxy calls it
  std::string traceparent;  ///< as it came, well-formed; empty: none came

  // Fields of a log line. The trace has no name, and so is left out, where there is none.
  [[nodiscard]] log::Field connection_field() const { return {"connection", id}; }
  [[nodiscard]] log::Field trace_field() const;
};

/// With a new id.
[[nodiscard]] Correlation new_correlation();

/// The id that the head's X-Request-Id gives: at most 64 letters, digits and -._, once. Empty: none, or none of that form.
[[nodiscard]] std::string_view given_request_id(const HttpHead& head);

/// The head's traceparent (version 00, of which later ones keep the form). Empty: none, or malformed.
[[nodiscard]] std::string_view given_traceparent(const HttpHead& head);

/// A response with the id of its connection among its fields.
[[nodiscard]] std::string with_request_id(std::string response, const Correlation& who);

/// `provenance`, a JSON object, with the trace as its member "traceparent", unless it names one itself or there is none.
[[nodiscard]] std::string with_trace(const std::string& provenance, const Correlation& who);

}  // namespace viewgate::gateway
