#include "gateway/key_follower.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::chrono::seconds last_fetch_time_max{10};

}  // namespace

KeyFollower::KeyFollower(boost::asio::io_context& io, auth::TokenVerifier& verifier, std::function<void()> on_keys)
    : io_(io), verifier_(verifier), on_keys_(std::move(on_keys)), retire_timer_(io) {
  verifier_.on_unknown_key([this](std::size_t issuer) { return ask(issuer); },
                           [this](std::size_t issuer) { return is_coming(issuer); });
}

bool KeyFollower::ask(std::size_t issuer) const {
  {
    const std::scoped_lock lock(mutex_);
    if (source_ && source_->ask(issuer)) return true;
  }
  return is_arriving(issuer);
}

bool KeyFollower::is_coming(std::size_t issuer) const {
  {
    const std::scoped_lock lock(mutex_);
    if (source_ && source_->is_under_way(issuer)) return true;
  }
  return is_arriving(issuer);
}

bool KeyFollower::is_arriving(std::size_t issuer) const {
  const std::scoped_lock lock(arriving_mutex_);
  return arriving_.contains(issuer);
}

void KeyFollower::arrives(std::uint64_t generation, std::size_t issuer) {
  const std::scoped_lock lock(arriving_mutex_);
  if (generation == arriving_generation_) arriving_.insert(issuer);
}

void KeyFollower::has_arrived(std::size_t issuer) {
  {
    // Before the waking: whoever is woken by it is not to be told once more that these may come, and wait for nothing. Who is
    // told until here is woken by it, and who looked at the keys before finds them to be of another version.
    const std::scoped_lock lock(arriving_mutex_);
    arriving_.erase(arriving_.find(issuer));
  }
  on_keys_();
}

std::vector<KeyFollower::Place> KeyFollower::places_of(const Identity& identity) {
  std::vector<Place> out;
  for (const auto& each : identity.key_places) {
    if (!each.file.empty()) continue;  // its keys have just been read
    out.push_back({identity.issuers.at(each.issuer).config.issuer, each.url, each.algorithms});
  }
  return out;
}

void KeyFollower::replace(Identity identity, auth::Anonymous anonymous, auth::KeySourceOptions options) {
  std::set<std::string> keeping;
  auto places = places_of(identity);
  for (const auto& each : places) {
    if (std::ranges::find(places_, each) != places_.end()) keeping.insert(each.issuer);
  }
  verifier_.replace_table(std::move(identity.issuers), anonymous, keeping);
  follow(std::move(places), std::move(identity.key_places), options);
}

void KeyFollower::follow(std::vector<Place> places, std::vector<auth::KeyPlace> fetched_from,
                         auth::KeySourceOptions options) {
  const auto generation = ++generation_;
  missing_.clear();
  {
    const std::scoped_lock lock(arriving_mutex_);
    arriving_generation_ = generation;
    arriving_.clear();
  }
  auth::KeySource::Listener listener;
  listener.fetched = [this, generation](std::size_t issuer, auth::Jwks jwks) {
    arrives(generation, issuer);
    boost::asio::post(io_, [this, generation, issuer, jwks = std::make_shared<auth::Jwks>(std::move(jwks))] {
      if (generation != generation_) return;
      missing_.erase(issuer);
      for (const auto& each : jwks->skipped) log::warn("key_skipped", {{"reason", each}});
      log::info("keys_fetched", {{"issuer", issuer}, {"keys", jwks->keys.size()}});
      verifier_.replace_keys(issuer, std::move(jwks->keys));
      has_arrived(issuer);
    });
  };
  listener.failed = [this, generation](std::size_t issuer, const std::string& reason) {
    arrives(generation, issuer);
    boost::asio::post(io_, [this, generation, issuer, reason] {
      if (generation != generation_) return;
      missing_.insert(issuer);
      log::warn("keys_not_fetched", {{"issuer", issuer}, {"reason", reason}});
      has_arrived(issuer);
    });
  };
  places_ = std::move(places);
  auto fresh = fetched_from.empty()
                   ? nullptr
                   : std::make_shared<auth::KeySource>(std::move(fetched_from), options, std::move(listener));
  {
    const std::scoped_lock lock(mutex_);
    source_.swap(fresh);
  }
  if (!fresh) return;
  fresh->stop();
  retired_.push_back(std::move(fresh));
  retire_later();
}

void KeyFollower::retire_later() {
  retire_timer_.expires_after(last_fetch_time_max);
  retire_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) retired_.clear();
  });
}

}  // namespace viewgate::gateway
