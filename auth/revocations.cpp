#include "auth/revocations.hpp"

#include <algorithm>

namespace viewgate::auth {

void Revocations::add(const Revocation& revocation) {
  const bool by_id = !revocation.token_id.empty();
  Times& times =
      (by_id ? token_ids_ : principals_)[{revocation.issuer, by_id ? revocation.token_id : revocation.principal}];
  times.revoked_at = std::max(times.revoked_at, revocation.revoked_at);
  times.until = std::max(times.until, revocation.until);
}

// Whole seconds are compared with whole seconds: in the system clock's nanoseconds a year beyond 2262 has no number.
void Revocations::forget_expired(std::chrono::system_clock::time_point now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  const auto is_over = [second](const auto& item) { return item.second.until + slack <= second; };
  std::erase_if(principals_, is_over);
  std::erase_if(token_ids_, is_over);
}

const Revocations::Times* Revocations::find(const ByName& names, const std::string& issuer, const std::string& name,
                                            std::chrono::system_clock::time_point now) {
  const auto found = names.find({issuer, name});
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return found == names.end() || found->second.until <= second ? nullptr : &found->second;
}

bool Revocations::cover(const Principal& principal, std::chrono::seconds leeway,
                        std::chrono::system_clock::time_point now) const {
  const auto from = now - leeway;  // so long are tokens good after their end
  for (const std::string& issuer : {principal.issuer, std::string()}) {
    if (!principal.token_id.empty() && find(token_ids_, issuer, principal.token_id, from) != nullptr) return true;
    const Times* const revoked = find(principals_, issuer, principal.subject, from);
    if (revoked != nullptr && (!principal.issued_at || *principal.issued_at <= revoked->revoked_at + leeway))
      return true;
  }
  return false;
}

}  // namespace viewgate::auth
