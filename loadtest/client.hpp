// One client of the gateway: a connection, its subscriptions and their folds. It follows the protocol and holds the
// server to it; when to connect, cut or change one's mind is its owner's choice.
//
// Lives on the loop's thread. Set and cursor survive the connection; everything else is as new after each.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loadtest/fold.hpp"
#include "loadtest/link.hpp"

namespace viewgate::loadtest {

/// A live view that a client wants.
struct Wanted {
  std::string id;
  std::string space;
  std::string view;
  std::string params = "{}";
};

/// What all clients of a loop saw together.
struct Totals {
  std::uint64_t connections = 0;
  std::uint64_t connections_failed = 0;
  std::uint64_t documents = 0;
  std::uint64_t deliveries = 0;  ///< whole commits, once per subscription that got them
  std::uint64_t bytes = 0;
  std::uint64_t bootstraps = 0;
  std::uint64_t resumptions = 0;
  std::uint64_t resets = 0;
  std::uint64_t notices = 0;
  std::uint64_t drains = 0;
  std::uint64_t refusals = 0;  ///< errors with retry_after
  std::uint64_t dead_links = 0;
  std::unordered_map<std::string, std::uint64_t> endings;  ///< by reason
};

class Client final : public LinkOwner {
 public:
  enum class Keep : std::uint8_t {
    set,   ///< fold everything
    count  ///< for measuring the server: a commit is counted and moves the cursor, its events are not looked at
  };

  struct Subscription {
    Subscription(Wanted what, const std::string& client, Violations& violations)
        : wanted(std::move(what)), fold(client + "/" + wanted.id, violations) {}
    enum class Phase : std::uint8_t { off, asked, open, leaving };

    Wanted wanted;
    Fold fold;
    Phase phase = Phase::off;
    std::string channel;
    std::optional<std::size_t> shares;  ///< same_as: this subscription of the client holds the set
    std::optional<Clock::time_point> ask_again;
  };

  Client(Loop& loop, std::string name, Address address, std::string token, std::vector<Wanted> wanted,
         Violations& violations, Totals& totals);

  void set_address(const Address& address) { address_ = address; }
  void set_keep(Keep keep) { keep_ = keep; }
  Keep keep() const { return keep_; }
  /// Sees every document before it is applied.
  using Observer = std::function<void(std::string_view text, const std::vector<Member>& document)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  void connect(Clock::time_point now);
  void unsubscribe(std::size_t index);
  /// Sends what is due and gives up links that are dead.
  void tick(Clock::time_point now);

  Link& link() { return link_; }
  bool online() const { return !link_.closed(); }
  bool welcomed() const { return welcomed_; }
  /// Every subscription is live.
  bool live() const;
  /// When the server said to come back.
  std::optional<Clock::time_point> not_before() const { return not_before_; }
  std::deque<Subscription>& subscriptions() { return subscriptions_; }
  const std::deque<Subscription>& subscriptions() const { return subscriptions_; }
  /// The fold that holds this subscription's set.
  const Fold& fold_of(std::size_t index) const;
  const std::string& name() const { return name_; }

  void on_open() override;
  void on_message(std::string_view text) override;
  void on_ended(std::uint16_t code, const std::string& why) override;

 private:
  void on_document(std::string_view text);
  void on_subscribed(const std::vector<Member>& document);
  void on_shared(std::string_view type, const std::vector<Member>& document);
  void on_error(const std::vector<Member>& document);
  void on_at(const std::vector<Member>& document);
  void on_unsubscribed(const std::vector<Member>& document);
  void ask(Subscription& subscription);
  Subscription* by_id(std::string_view id);
  Subscription* by_channel(std::string_view channel);
  void broken(const std::string& what) { violations_->add(name_ + ": " + what); }

  std::string name_;
  Address address_;
  std::string token_;
  Violations* violations_;
  Totals* totals_;
  Keep keep_ = Keep::set;
  Observer observer_;
  std::deque<Subscription> subscriptions_;
  Link link_;
  bool welcomed_ = false;
  std::chrono::milliseconds heartbeat_{0};
  Clock::time_point heard_;
  Clock::time_point connecting_since_;
  std::optional<Clock::time_point> not_before_;
  std::vector<Member> members_scratch_;
};

}  // namespace viewgate::loadtest
