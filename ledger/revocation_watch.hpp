// Reads what was revoked (viewgate.revoke) on a connection of its own, at a fixed pace: neither a reader of a large commit nor
// a lost notification can make a revocation late.
//
// Lives on the io_context's thread. After stop() or destruction no callback comes any more; none runs inside the call
// that caused it. A database that cannot be reached is asked again for ever; the tailer tells of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

/// Tokens of a principal, or the token of an id; the other is empty.
struct Revocation {
  std::string issuer;  ///< empty: whichever
  std::string principal;
  std::string token_id;
  std::chrono::sys_seconds revoked_at;  ///< rounded up
  std::chrono::sys_seconds until;       ///< rounded up
};

struct RevocationWatchOptions {
  std::chrono::milliseconds interval{250};
  std::chrono::milliseconds time_max{10000};  ///< for a connection or an answer
};

class RevocationWatch {
 public:
  using OnRevoked = std::function<void(std::vector<Revocation>)>;

  RevocationWatch(boost::asio::io_context& io, std::string conninfo, RevocationWatchOptions options);
  ~RevocationWatch();

  /// The first call of `on_revoked` has all that are in force, and comes also where there is none; later ones have what
  /// is new, and possibly what was told before.
  void start(OnRevoked on_revoked);
  void stop();

 private:
  class Runner;
  std::shared_ptr<Runner> runner_;
};

}  // namespace viewgate::ledger
