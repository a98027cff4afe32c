// Which tokens count no more although they have not expired. A value; the verifier holds the one in force.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auth/principal.hpp"

namespace viewgate::auth {

/// Tokens of a principal that were issued up to `revoked_at`, or the token of an id. `until`: by then they have expired.
struct Revocation {
  std::string issuer;  ///< empty: whichever
  std::string principal;
  std::string token_id;  ///< where this is not empty, `principal` is
  std::chrono::sys_seconds revoked_at;
  std::chrono::sys_seconds until;
};

class Revocations {
 public:
  /// How long after its end one is kept: a clock that is set back by less finds it again.
  static constexpr std::chrono::hours slack{24};

  void add(const Revocation& revocation);
  /// Those that ended longer ago than the slack.
  void forget_expired(std::chrono::system_clock::time_point now);

  /// `leeway`: by how much an issuer's clock may be ahead of the database's. A token that does not say when it was
  /// issued counts as issued before. What has ended by `now` covers nothing.
  [[nodiscard]] bool cover(const Principal& principal, std::chrono::seconds leeway,
                           std::chrono::system_clock::time_point now) const;
  /// Principals and ids.
  [[nodiscard]] std::size_t size() const { return principals_.size() + token_ids_.size(); }

 private:
  struct Times {
    std::chrono::sys_seconds revoked_at;
    std::chrono::sys_seconds until;
  };
  /// By issuer and name. Of those of one name only such as no other outdoes: a short one after a long one ends when it says.
  using ByName = std::map<std::pair<std::string, std::string>, std::vector<Times>>;

  /// Whether one is in force that covers what was issued then, or at any time.
  static bool covers(const ByName& names, const std::string& issuer, const std::string& name,
                     std::optional<std::chrono::sys_seconds> issued_at, std::chrono::system_clock::time_point now);

  ByName principals_;
  ByName token_ids_;
};

}  // namespace viewgate::auth
