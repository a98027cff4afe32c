#include "gateway/http_endpoints.hpp"

namespace viewgate::gateway {

namespace {

std::string response(std::string_view status, std::string_view text) {
  std::string out = "HTTP/1.1 ";
  out.append(status).append("\r\nConnection: close\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\n");
  out.append("Content-Length: ").append(std::to_string(text.size())).append("\r\n\r\n").append(text);
  return out;
}

}  // namespace

std::string http_response(const RequestLine& request, Readiness readiness) {
  if (request.method != "GET") return response("404 Not Found", "there is nothing here\n");
  if (request.target == "/healthz") return response("200 OK", "alive\n");
  if (request.target != "/readyz") return response("404 Not Found", "there is nothing here\n");
  if (readiness == Readiness::ready) return response("200 OK", "ready\n");
  return response("503 Service Unavailable", "not ready\n");
}

}  // namespace viewgate::gateway
