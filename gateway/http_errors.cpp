#include "gateway/http_errors.hpp"

#include <algorithm>
#include <utility>

#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {

void send(HttpReply& reply, std::string text) {
  reply.write(std::move(text), [](bool) {});
  reply.finish();
}

std::string error_text(int status, const Error& error) {
  std::string fields;
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();
    fields = "Retry-After: " + std::to_string(std::max<std::int64_t>(seconds, 1)) + "\r\n";
  }
  std::string document;
  append_document(document, error);
  document += '\n';
  return http_text(status, "application/json", document, fields);
}

void say(HttpReply& reply, int status, const Error& error) { send(reply, error_text(status, error)); }

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::forbidden:
      return 403;
    case ErrorCode::sequence_gap:
    case ErrorCode::sequence_conflict:
      return 409;
    case ErrorCode::receipt_pruned:
      return 410;
    case ErrorCode::unavailable:
    case ErrorCode::bootstrap_timeout:
      return 503;
    case ErrorCode::bad_request:
    case ErrorCode::invalid_value:
    case ErrorCode::not_writable:
    case ErrorCode::invalid_view:
    case ErrorCode::duplicate_subscription:
    case ErrorCode::too_many_subscriptions:
    case ErrorCode::cursor_invalid:
      break;
  }
  return 400;
}

Error bad_request(std::string text) {
  Error out;
  out.code = ErrorCode::bad_request;
  out.message = std::move(text);
  return out;
}

}  // namespace viewgate::gateway
