#include "auth/revocations.hpp"

#include <algorithm>

namespace viewgate::auth {

void Revocations::add(const Revocation& revocation) {
  const bool by_id = !revocation.token_id.empty();
  auto& all =
      (by_id ? token_ids_ : principals_)[{revocation.issuer, by_id ? revocation.token_id : revocation.principal}];
  const Times added{revocation.revoked_at, revocation.until};
  const auto outdoes = [](const Times& a, const Times& b) {
    return a.revoked_at >= b.revoked_at && a.until >= b.until;
  };
  if (std::ranges::any_of(all, [&](const Times& each) { return outdoes(each, added); })) return;
  std::erase_if(all, [&](const Times& each) { return outdoes(added, each); });
  all.push_back(added);
}

// Whole seconds are compared with whole seconds: in the system clock's nanoseconds a year beyond 2262 has no number.
void Revocations::forget_expired(std::chrono::system_clock::time_point now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  for (ByName* names : {&principals_, &token_ids_}) {
    for (auto& [name, all] : *names)
      std::erase_if(all, [&](const Times& each) { return each.until + slack <= second; });
    std::erase_if(*names, [](const auto& item) { return item.second.empty(); });
  }
}

bool Revocations::covers(const ByName& names, const std::string& issuer, const std::string& name,
                         std::optional<std::chrono::sys_seconds> issued_at, std::chrono::system_clock::time_point now) {
  const auto found = names.find({issuer, name});
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return found != names.end() && std::ranges::any_of(found->second, [&](const Times& each) {
           return each.until > second && (!issued_at || *issued_at <= each.revoked_at);
         });
}

bool Revocations::cover(const Principal& principal, std::chrono::seconds leeway,
                        std::chrono::system_clock::time_point now) const {
  const auto from = now - leeway;  // so long are tokens good after their end
  auto issued_at = principal.issued_at;
  if (issued_at) *issued_at -= leeway;
  for (const std::string& issuer : {principal.issuer, std::string()}) {
    if (!principal.token_id.empty() && covers(token_ids_, issuer, principal.token_id, std::nullopt, from)) return true;
    if (covers(principals_, issuer, principal.subject, issued_at, from)) return true;
  }
  return false;
}

}  // namespace viewgate::auth
