// Decides whether a token is one of ours. The clock is a parameter, no key and no URL ever comes from a token, nothing is
// fetched and no file is read. Shared by all threads: what changes (the issuer table, an issuer's keys, what was revoked) is
// replaced as a whole.
//
// Everything that can be decided without the signature (size, form, `alg`, `crit`, duplicate members, members that name
// a key) is checked before it, because the library accepts some of it silently. A token's `iss` chooses the row of the
// issuer table; keys are looked up by issuer and `kid`, never by `kid` alone.
#pragma once

#include <atomic>
#include <boost/system/result.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/key_set.hpp"
#include "auth/principal.hpp"
#include "auth/revocations.hpp"

namespace viewgate::auth {

/// What the outside is told, whatever the reason was: an answer that differs would help to guess.
inline constexpr std::string_view refusal_text = "the token was not accepted";

enum class RefusalKind : std::uint8_t {
  invalid,
  unknown_key,  ///< well-formed, of a known issuer, and none of its keys: a refresh of the keys may help
  revoked       ///< it was good
};

/// `reason` is for the log: constant texts, nothing of the token in them.
struct TokenRefused {
  std::string_view reason;
  RefusalKind kind = RefusalKind::invalid;
  std::size_t issuer = 0;          ///< unknown_key: its place in the issuer table
  std::uint64_t keys_version = 0;  ///< of the keys it was looked for among
};

[[noreturn]] void throw_exception_from_error(const TokenRefused& refused, const boost::source_location& location);

using VerifiedToken = boost::system::result<Principal, TokenRefused>;

/// Who brings no token.
enum class Anonymous : std::uint8_t { refuse, admit };

/// A row of the issuer table.
struct VerifierConfig {
  std::string issuer;               ///< `iss` must equal it
  std::string audience;             ///< `aud` must equal it or, as an array, hold it
  std::chrono::seconds leeway{10};  ///< for clocks that differ; at most a minute
  std::size_t token_bytes_max = std::size_t{8} * 1024;
};

class TokenVerifier {
 public:
  static constexpr std::chrono::seconds leeway_max{60};

  struct Issuer {
    VerifierConfig config;
    KeySet keys;
  };

  /// Refuses everybody, until there is a table.
  TokenVerifier() : table_(std::make_shared<const Table>()) {}
  /// Throws std::invalid_argument: no issuer, one twice, issuer or audience empty, leeway outside 0..leeway_max.
  explicit TokenVerifier(std::vector<Issuer> issuers);
  TokenVerifier(VerifierConfig config, KeySet keys);

  [[nodiscard]] VerifiedToken verify(std::string_view token, std::chrono::system_clock::time_point now) const;

  /// Another table from now on: it counts for the tokens to come, and ends (is_revoked) those who came under an issuer that is not
  /// in it, or without a token where `anonymous` refuses them now. Issuers that `keeping` names keep the keys that they have.
  /// Throws as the constructor, and then changes nothing.
  void replace_table(std::vector<Issuer> issuers, Anonymous anonymous, const std::set<std::string>& keeping);

  /// From now on that issuer's tokens are checked with these keys. `issuer`: the place in the table. Whoever is refused for an
  /// unknown key meanwhile waits to be told of them: after it, call what wakes those who wait.
  void replace_keys(std::size_t issuer, KeySet keys);

  /// Where an unknown key may be had: `ask` starts a fetch and says whether one is under way, `is_coming` says it and starts none.
  /// Called by any thread. Set before the first verify.
  void on_unknown_key(std::function<bool(std::size_t issuer)> ask, std::function<bool(std::size_t issuer)> is_coming) {
    ask_for_keys_ = std::move(ask);
    keys_are_coming_ = std::move(is_coming);
  }
  /// Whether it is worth waiting to be woken, and then trying again: a fetch is under way, or has brought keys since.
  [[nodiscard]] bool may_become_known(const TokenRefused& refused) const { return may_come(refused, ask_for_keys_); }
  /// The same for one that was woken. Whoever waits is woken for any issuer's keys and by a reload of the table, so the fetch it
  /// waits for may still be under way; but for no token a second one is begun.
  [[nodiscard]] bool may_still_become_known(const TokenRefused& refused) const {
    return may_come(refused, keys_are_coming_);
  }

  /// Who brings no token is nobody in particular; refused unless replace_table admits them.
  [[nodiscard]] VerifiedToken anonymous() const;

  /// From now on verify refuses these, too. What was verified before is the caller's to look through, by is_revoked.
  void revoke(const std::vector<Revocation>& more, std::chrono::system_clock::time_point now);
  [[nodiscard]] bool is_revoked(const Principal& principal, std::chrono::system_clock::time_point now) const;

 private:
  struct Row {
    VerifierConfig config;
    std::shared_ptr<const KeySet> keys;
  };

  using Table = std::vector<Row>;
  using Question = std::function<bool(std::size_t issuer)>;
  [[nodiscard]] bool may_come(const TokenRefused& refused, const Question& is_under_way) const {
    if (refused.kind != RefusalKind::unknown_key || !is_under_way) return false;
    // In this order: a fetch that is over when it is asked for has its keys here.
    return is_under_way(refused.issuer) || keys_version_ != refused.keys_version;
  }
  [[nodiscard]] static Table table_of(std::vector<Issuer> issuers);
  [[nodiscard]] std::shared_ptr<const Table> table() const;

  std::shared_ptr<const Table> table_;
  std::atomic<std::uint64_t> keys_version_ = 0;  // counts what replace_keys brought
  Question ask_for_keys_;
  Question keys_are_coming_;
  std::atomic<bool> anonymous_admitted_ = false;
  Revocations revocations_;
  mutable std::mutex mutex_;  // of table_ and of revocations_; held for a look, never for a signature
};

}  // namespace viewgate::auth
