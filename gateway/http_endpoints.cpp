#include "gateway/http_endpoints.hpp"

#include "gateway/http_api.hpp"

namespace viewgate::gateway {

std::string http_response(const RequestLine& request, Readiness readiness) {
  constexpr std::string_view plain = "text/plain";
  if (request.method != "GET") return http_text(404, plain, "there is nothing here\n");
  if (request.target == "/healthz") return http_text(200, plain, "alive\n");
  if (request.target != "/readyz") return http_text(404, plain, "there is nothing here\n");
  if (readiness == Readiness::ready) return http_text(200, plain, "ready\n");
  return http_text(503, plain, "not ready\n");
}

}  // namespace viewgate::gateway
