// Nothing unseen leaks, as a property: two databases live through the same history but for what alice may not see, which is
// drawn anew for each. Whatever she receives must be the same bytes, apart from what docs/security.md lists and from the
// names that belong to a database (channel, context, position).
#include <random>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

/// One side: a database, its gateway, and alice in front of it.
class Side {
 public:
  explicit Side(std::uint64_t seed) : line_(durable_cluster()), random_(seed), alice_(line_.port(), line_.reader()) {}

  void alices(int id, int status) {
    line_.session().query(
        "insert into items (space, id, owner, status) values ('s', $1, 'alice', $2) on conflict (id) "
        "do update set status = excluded.status",
        {std::to_string(id), "status " + std::to_string(status)});
  }
  void forget(int id) { line_.session().query("delete from items where id = $1", {std::to_string(id)}); }

  /// One transaction about one record that is not alice's, of contents that only this side knows.
  void unseen() {
    const std::string secret = std::to_string(random_());
    const bool is_new = others_.empty() || random_() % 2 == 0;
    if (is_new) {
      others_.push_back(std::to_string(100'000 + random_() % 1'000'000'000));
      line_.session().query("insert into items (space, id, owner, status, x, a) values ('s', $1, 'bob', $2, $2, $3)",
                            {others_.back(), secret, std::to_string(random_() % 100)});
    } else if (random_() % 3 == 0) {
      line_.session().query("delete from items where id = $1", {others_.back()});
      others_.pop_back();
    } else if (random_() % 2 == 0) {
      const std::string moved = std::to_string(2'000'000'000 + random_() % 1'000'000'000);
      line_.session().query("update items set id = $2 where id = $1", {others_.back(), moved});
      others_.back() = moved;
    } else {
      line_.session().query("update items set status = $2, x = $2, j = to_jsonb($2::text) where id = $1",
                            {others_.back(), secret});
    }
  }

  void subscribe(const SubscribeText& what) { alice_.send(subscribe_text(what)); }

  /// Reads up to the document that has this text.
  void read_to(const std::string& text) {
    while (true) {
      const Document document = alice_.next();
      told_.push_back(without_names(document.text));
      if (document.text.empty() || document.text.find(text) != std::string::npos) return;
    }
  }
  const std::vector<std::string>& told() const { return told_; }

 private:
  static std::string without_names(std::string text) {
    for (const std::string name : {"channel", "context", "position", "at"}) {  // two ledgers, and two moments
      const std::size_t at = text.find("\"" + name + "\":\"");
      if (at == std::string::npos) continue;
      const std::size_t value = at + name.size() + 4;
      text.erase(value, text.find('"', value) - value);
    }
    return text;
  }

  Line line_;
  std::mt19937_64 random_;
  WsClient alice_;
  std::vector<std::string> others_;
  std::vector<std::string> told_;
};

TEST(Unseen, what_a_principal_may_not_see_changes_nothing_of_what_it_receives) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 history(seed);
  Side one(seed + 1), two(seed + 2);
  const auto both = [&](auto&& what) {
    what(one);
    what(two);
  };
  int marker = 50'000;
  const auto settle = [&] {
    ++marker;
    both([&](Side& side) { side.alices(marker, 0); });
    both([&](Side& side) { side.read_to("\"key\":[" + std::to_string(marker) + "]"); });
  };
  for (int i = 0; i < 20; ++i) both([](Side& side) { side.unseen(); });
  both([](Side& side) { side.subscribe({.id = "mine", .space = "s", .view = "mine"}); });
  both([](Side& side) { side.read_to("\"ready\""); });
  both([](Side& side) { side.subscribe({.id = "walled", .space = "s", .view = "walled"}); });
  both([](Side& side) { side.subscribe({.id = "none", .space = "s", .view = "nothing"}); });
  both([](Side& side) { side.read_to("\"none\""); });
  for (int step = 0; step < 120; ++step) {
    const auto choice = history() % 10;
    const int id = 1 + static_cast<int>(history() % 20);
    const int status = static_cast<int>(history() % 3);
    if (choice < 6) {
      both([](Side& side) { side.unseen(); });
    } else if (choice < 9) {
      both([&](Side& side) { side.alices(id, status); });
    } else {
      both([&](Side& side) { side.forget(id); });
    }
    if (step % 20 == 19) settle();
  }
  EXPECT_GT(one.told().size(), 10U);
  EXPECT_EQ(one.told(), two.told());
  for (const std::string& each : one.told()) EXPECT_EQ(each.find("bob"), std::string::npos) << each;
}

}  // namespace
}  // namespace viewgate::testing
