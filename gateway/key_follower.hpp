// The issuers' keys that are fetched, on their way from the fetching thread into the verifier; and the change to another issuer table.
// On the engine's loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "auth/key_source.hpp"
#include "auth/token_verifier.hpp"
#include "gateway/identity.hpp"

namespace viewgate::gateway {

class KeyFollower {
 public:
  /// Both outlive it. `on_keys`: an issuer's keys were asked for, and are here or not. Before the verifier's first verify.
  KeyFollower(boost::asio::io_context& io, auth::TokenVerifier& verifier, std::function<void()> on_keys);

  /// A table takes the place of the one before. Keys from a place that is the same as before stay in force until they are fetched again, so that a reload while
  /// the issuer's server is away shuts nobody out. Throws std::invalid_argument (TokenVerifier), and then changes nothing.
  void replace(Identity identity, auth::Anonymous anonymous, auth::KeySourceOptions options);

  /// Issuers whose keys could not be fetched when it was last tried.
  [[nodiscard]] std::size_t missing() const { return missing_.size(); }

 private:
  struct Place {
    std::string issuer;
    std::string url;
    std::vector<auth::Algorithm> algorithms;
    friend bool operator==(const Place&, const Place&) = default;
  };

  [[nodiscard]] static std::vector<Place> places_of(const Identity& identity);
  /// A fetch of that issuer's keys has ended, and the engine's loop is to hear of it. From here until has_arrived, is_coming says that keys may come.
  void arrives(std::uint64_t generation, std::size_t issuer);
  void has_arrived(std::size_t issuer);
  void follow(std::vector<Place> places, std::vector<auth::KeyPlace> fetched_from, auth::KeySourceOptions options);
  /// Begins a fetch, unless there was one a moment ago; and as is_coming.
  [[nodiscard]] bool ask(std::size_t issuer) const;
  /// Whether on_keys will be called for the end of a fetch of that issuer's keys.
  [[nodiscard]] bool is_coming(std::size_t issuer) const;
  [[nodiscard]] bool is_arriving(std::size_t issuer) const;
  void retire_later();

  boost::asio::io_context& io_;
  auth::TokenVerifier& verifier_;
  const std::function<void()> on_keys_;
  std::vector<Place> places_;
  std::set<std::size_t> missing_;
  std::uint64_t generation_ = 0;  // what an older source has fetched is not of this table
  mutable std::mutex mutex_;      // of source_, which the reactors' threads ask
  std::shared_ptr<auth::KeySource> source_;
  // Of what follows; taken within the source's own lock, so never while the source is asked.
  mutable std::mutex arriving_mutex_;
  std::uint64_t arriving_generation_ = 0;
  std::multiset<std::size_t> arriving_;
  std::vector<std::shared_ptr<auth::KeySource>>
      retired_;  // until no fetch of theirs can be under way: their end would wait for it
  boost::asio::steady_timer retire_timer_;
};

}  // namespace viewgate::gateway
