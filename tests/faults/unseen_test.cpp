// I7, nothing unseen leaks, as a property: two databases live through the same history but for what neither of two principals may see,
// which is drawn anew for each: other people's records, and the columns of their own that no view of theirs shows. Whatever they
// receive must be the same bytes, apart from what docs/security.md lists and from the names that belong to a database (channel, context,
// position, cursor, connection) or to a moment (at, head, expires_in).
#include <map>
#include <random>
#include <regex>
#include <set>

#include "row_test.hpp"
#include "support/http_client.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

/// Every way in which a view keeps something back: whose it is, a parameter, a claim, a column that decides and is not shown, row
/// security on the table, the space, and no policy at all.
const char* const model = R"(
create table items (like public.items) with (space = 'space');
create view mine as select id, owner, status from items where owner = claims.sub;
create view range as select id, n from items where n between params.low and params.high;
create view below as select id, n from items where n < claims.ceiling::numeric;
create view named as select id, x from items where x = params.name;
create view either as select id, a from items where a = 1 or b = 1;
create view walled as select id, n from items where id >= 0;
create view closed as select id from items;
create policy readers on mine using (claims.role = 'reader');
create policy readers on range using (claims.role = 'reader');
create policy readers on below using (claims.role = 'reader');
create policy readers on named using (claims.role = 'reader');
create policy readers on either using (claims.role = 'reader');
create policy members on walled using (space.name = any(claims.spaces));
create table notes (id int8 primary key, title text not null, body text, owner text);
create policy own on notes for select using (owner = claims.sub or title = 'to all');
create policy add on notes for insert with check (owner = claims.sub);
create policy change on notes for update using (owner = claims.sub);
create policy removal on notes for delete using (owner = claims.sub);
create view all_notes as select id, title from notes;
create policy readers on all_notes using (claims.role = 'reader');
)";

const std::map<std::string, std::string> parameters{{"mine", ""},   {"range", R"({"low":20,"high":60})"},
                                                    {"below", ""},  {"named", R"({"name":"shown"})"},
                                                    {"either", ""}, {"all_notes", ""}};

// The keys of zoe's notes: so few that the same one is there at one side and not at the other now and then.
constexpr int notes_of_zoe = 1'000'000;
constexpr int notes_max = 10;

enum class Numbers : std::uint8_t { are_the_same, differ };

/// What one principal is told, by the subscription that it is about; what is about none stands under "".
class Reader {
 public:
  Reader(std::uint16_t port, std::string name, Numbers numbers)
      : port_(port), name_(std::move(name)), numbers_(numbers), token_(token(name_, {"role=reader", "ceiling=40"})) {
    connect();
  }

  void subscribe(const std::string& view) {
    client_->send(subscribe_text(
        {.id = view, .space = "s", .view = view, .params = parameters.at(view), .cursor = cursor(view)}));
    read_until({{view, "\"type\":\"ready\""}});
  }
  /// Anything that is answered by a document with this text.
  void ask(const std::string& what, const std::string& answer) {
    client_->send(what);
    read_until({{"", answer}});
  }
  /// What was written since comes after the cursors.
  void come_back() {
    client_.reset();
    connect();
  }
  void mutate(std::int64_t number, const std::string& mutations) {
    client_->mutate("s", number, mutations);
    read_until({{"", R"("number":")" + std::to_string(number) + "\""}});
  }
  void get(const std::string& view) {
    told_[""].push_back(without_names(testing::ask(port_, get_text("/v1/spaces/s/views/" + view, token_)).body));
  }
  std::string get_receipt(const std::string& client, std::int64_t number) {
    const std::string target = "/v1/spaces/s/clients/" + client + "/receipts/" + std::to_string(number);
    told_[""].push_back(without_names(testing::ask(port_, get_text(target, token_)).body));
    return told_[""].back();
  }
  /// Reads on until each of these subscriptions was told something with its text.
  void read_until(std::map<std::string, std::string> wanted) {
    while (!wanted.empty()) {
      const Document document = client_->next();
      if (document.text.empty())
        throw std::runtime_error(name_ + " waits for " + wanted.begin()->second + ", closed with " +
                                 std::to_string(client_->closed_with()));
      const std::string about = subscription_of(document);
      told_[about].push_back(without_names(document.text));
      const auto found = wanted.find(about);
      if (found != wanted.end() && document.text.find(found->second) != std::string::npos) wanted.erase(found);
    }
  }
  const std::map<std::string, std::vector<std::string>>& told() const { return told_; }
  const std::string& name() const { return name_; }

 private:
  void connect() {
    client_.emplace(port_, token_, "desk-of-" + name_);
    told_[""].push_back(without_names(client_->welcome().text));
  }
  std::string subscription_of(const Document& document) {
    if (document.type() == "subscribed") {
      channels_[document.plain("channel")] = document.plain("id");
      contexts_[document.plain("id")] = document.plain("context");
    }
    const std::string id = document.plain("id"), channel = document.plain("channel");
    const std::string view = channel.empty() ? "" : channels_[channel];
    if (const std::string position = document.plain("position"); !position.empty()) positions_[view] = position;
    return parameters.contains(id) ? id : view;
  }
  std::optional<std::string> cursor(const std::string& view) const {
    const auto context = contexts_.find(view), position = positions_.find(view);
    if (context == contexts_.end() || position == positions_.end()) return std::nullopt;
    return context->second + "." + position->second;
  }
  std::string without_names(std::string text) const {
    static const std::regex names(
        R"re("(channel|context|position|cursor|connection|at|head)":"[^"]*"|"expires_in":[0-9]+)re");
    static const std::regex numbers(R"re("(sequence|record)":"[0-9]+")re");
    text = std::regex_replace(text, names, "");
    return numbers_ == Numbers::differ ? std::regex_replace(text, numbers, "") : text;
  }

  const std::uint16_t port_;
  const std::string name_;
  const Numbers numbers_;
  const std::string token_;
  std::optional<WsClient> client_;
  std::map<std::string, std::string> channels_, contexts_, positions_;
  std::map<std::string, std::vector<std::string>> told_;
};

/// One database with its gateway, the two who read, and what only this side knows.
class Side {
 public:
  Side(std::uint64_t seed, Numbers numbers)
      : line_(durable_cluster(), {.model = model}),
        random_(seed),
        alice(line_.port(), "alice", numbers),
        dora(line_.port(), "dora", numbers),
        zoe_(line_.port(), token("zoe", {"role=reader", "ceiling=40"}), "desk") {}

  void run(const std::string& sql, const std::vector<PgValue>& values) { line_.session().query(sql, values); }
  void settle() { line_.settled_head("s"); }

  /// One commit about nothing that a reader may see.
  void unseen() {
    const std::string secret = "secret " + std::to_string(random_()),
                      large = std::to_string(1000 + random_() % 1'000'000);
    switch (random_() % 6) {
      case 0:
        return note_of_zoe(secret);
      case 1:
        if (others_.empty()) break;
        run("delete from items where id = $1", {others_.back()});
        others_.pop_back();
        return;
      case 2: {
        if (others_.empty()) break;
        const std::string moved = std::to_string(2'000'000'000 + random_() % 1'000'000'000);
        run("update items set id = $2 where id = $1", {others_.back(), moved});
        others_.back() = moved;
        return;
      }
      case 3:
        if (others_.empty()) break;
        run("update items set status = $2, x = $2, n = $3, j = to_jsonb($2::text) where id = $1",
            {others_.back(), secret, large});
        return;
      default:
        break;
    }
    others_.push_back(std::to_string(100'000 + random_() % 1'000'000'000));
    run("insert into items (space, id, owner, status, x, n, a) values ('s', $1, 'zoe', $2, $2, $3, 2)",
        {others_.back(), secret, large});
  }
  /// Of a record that they may see: columns that no view of theirs shows, of which none decides.
  void change_hidden_columns(int id) {
    const std::string secret = "secret " + std::to_string(random_()),
                      large = std::to_string(1000 + random_() % 1'000'000);
    run("update items set j = to_jsonb($2::text), b = case when a = 1 then $4::int4 else $4::int4 + 2 end, "
        "x = case when x = 'shown' then x else $2 end, n = case when n < 1000 then n else $3::numeric end, "
        "status = case when owner in ('alice', 'dora') then status else $2 end where id = $1",
        {std::to_string(id), secret, large, std::to_string(random_() % 1000)});
  }

 private:
  /// Applied or rejected, it is a commit.
  void note_of_zoe(const std::string& secret) {
    const std::string key = std::to_string(notes_of_zoe + static_cast<int>(random_() % notes_max));
    const char* const kinds[] = {"create", "put", "delete"};
    const std::string kind = kinds[random_() % 3];
    const std::string record =
        kind == "delete" ? "" : R"(,"record":{"title":")" + secret + R"(","body":")" + secret + R"(","owner":"zoe"})";
    zoe_.mutate("s", ++notes_,
                R"([{"kind":")" + kind + R"(","collection":"notes","key":[)" + key + "]" + record + "}]");
    if (zoe_.receipt_of(notes_).text.empty()) throw std::runtime_error("zoe waits for her receipt");
  }

  Line line_;
  std::mt19937_64 random_;

 public:
  Reader alice, dora;

 private:
  WsClient zoe_;
  std::int64_t notes_ = 0;
  std::vector<std::string> others_;
};

class Unseen : public Watched, public ::testing::WithParamInterface<Numbers> {
 protected:
  template <class What>
  void both(What&& what) {
    what(one_);
    what(two_);
  }
  template <class What>
  void all(What&& what) {
    both([&](Side& side) {
      what(side.alice);
      what(side.dora);
    });
  }
  void unseen() {
    one_.unseen();
    // How many there were is told by sequences, and by nothing else.
    const std::size_t more = GetParam() == Numbers::differ ? history_() % 3 : 1;
    for (std::size_t i = 0; i < more; ++i) two_.unseen();
  }
  /// What is visible to somebody, the same on both sides.
  void seen() {
    const int id = 1 + static_cast<int>(history_() % 40);
    const std::string text = std::to_string(id), small = std::to_string(history_() % 100),
                      status = std::to_string(history_() % 3);
    const std::string owner = id % 4 == 0 ? "alice" : id % 4 == 1 ? "dora" : "carl";
    const std::string n = id % 2 == 0 ? "5000" : small;
    const std::string x = id % 5 == 0 ? "shown" : "other", a = id % 3 == 0 ? "1" : "0";
    if (history_() % 5 == 0) return both([&](Side& side) { side.run("delete from items where id = $1", {text}); });
    both([&](Side& side) {
      side.run(
          "insert into items (space, id, owner, status, n, x, a, b) values ('s', $1, $2, $3, $4, $5, $6, 0) on "
          "conflict (id) "
          "do update set status = case when items.owner = 'carl' then items.status else excluded.status end, "
          "n = case when items.n < 1000 then excluded.n else items.n end",
          {text, owner, status, n, x, a});
    });
  }
  void hidden() {
    const int id = 1 + static_cast<int>(history_() % 40);
    both([&](Side& side) { side.change_hidden_columns(id); });
  }
  /// Each tries its hand at a note of zoe's, which may or may not be there.
  void reach_for_unseen() {
    const std::string key = std::to_string(notes_of_zoe + static_cast<int>(history_() % notes_max));
    const std::vector<std::string> changes{
        R"({"kind":"update","collection":"notes","key":[KEY],"changed":{"title":"mine"}})",
        R"({"kind":"delete","collection":"notes","key":[KEY]})"};
    for (std::string change : changes) {
      change.replace(change.find("KEY"), 3, key);
      const std::int64_t number = ++writes_;
      all([&](Reader& reader) { reader.mutate(number, "[" + change + "]"); });
    }
  }
  void step() {
    const auto choice = history_() % 10;
    if (choice < 4) return unseen();
    if (choice < 7) return hidden();
    seen();
  }
  /// Something that every view of both shows, and has shown when this returns.
  void settle(const std::set<std::string>& views) {
    marker_ += 2;
    const std::string hers = std::to_string(marker_), others = std::to_string(marker_ + 1);
    both([&](Side& side) {
      side.run(
          "insert into items (space, id, owner, status, n, x, a) select 's', id, owner, 'marker', 30, 'shown', 1 "
          "from (values ($1::int8, 'alice'), ($2::int8, 'dora')) t(id, owner)",
          {hers, others});
      for (Reader* reader : {&side.alice, &side.dora}) {
        std::map<std::string, std::string> wanted;
        for (const auto& view : views) {
          if (view != "all_notes") wanted[view] = "[" + (reader == &side.alice ? hers : others) + "]";
        }
        reader->read_until(wanted);
      }
    });
    const std::int64_t number = ++writes_;
    all([&](Reader& reader) {
      const std::string key = std::to_string(number * 2 + (reader.name() == "alice" ? 0 : 1));
      reader.mutate(number, R"([{"kind":"create","collection":"notes","key":[)" + key +
                                R"(],"record":{"title":"mine","owner":")" + reader.name() + "\"}}]");
    });
  }

  const unsigned seed_ = seed_from_environment();
  std::mt19937_64 history_{seed_};
  Side one_{seed_ + 1, GetParam()}, two_{seed_ + 2, GetParam()};
  int marker_ = 50'000;
  std::int64_t writes_ = 0;
};

TEST_P(Unseen, I7_what_a_principal_may_not_see_changes_nothing_of_what_it_receives) {
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed_));
  for (int i = 0; i < 40; ++i) step();
  // Views are opened by and by, so that each begins with another past.
  std::set<std::string> open;
  for (const auto& [view, params] : parameters) {
    both([](Side& side) { side.settle(); });
    all([&, name = view](Reader& reader) { reader.subscribe(name); });
    open.insert(view);
    for (int i = 0; i < 8; ++i) step();
    settle(open);
  }
  const std::string refused = "\"code\":\"";
  all([&](Reader& reader) {
    reader.ask(subscribe_text({.id = "w", .space = "s", .view = "walled"}), refused);
    reader.ask(subscribe_text({.id = "c", .space = "s", .view = "closed"}), refused);
    reader.ask(subscribe_text({.id = "r", .space = "s", .view = "range", .params = R"({"low":"x"})"}), refused);
    reader.ask(R"({"type":"receipts","space":"s","after":"0"})", "\"receipts\":[]");
  });
  for (int i = 0; i < 30; ++i) step();
  settle(open);
  // Away for a while, and back with cursors.
  for (int i = 0; i < 20; ++i) step();
  both([](Side& side) { side.settle(); });
  all([&](Reader& reader) {
    reader.come_back();
    for (const auto& view : open) reader.subscribe(view);
  });
  settle(open);
  for (int i = 0; i < 10; ++i) reach_for_unseen();
  all([&](Reader& reader) {
    for (const char* view : {"mine", "below", "all_notes", "walled", "closed"}) reader.get(view);
    for (std::int64_t number = 1; number <= 20; ++number) reader.get_receipt("desk", number);
    for (const std::int64_t own : {std::int64_t{1}, writes_}) {
      EXPECT_THAT(reader.get_receipt("desk-of-" + reader.name(), own), ::testing::HasSubstr("\"type\":\"receipts\""));
    }
  });

  for (const auto& [mine, other] : {std::pair(&one_.alice, &two_.alice), std::pair(&one_.dora, &two_.dora)}) {
    SCOPED_TRACE(mine->name());
    EXPECT_EQ(mine->told(), other->told());
    std::size_t documents = 0;
    for (const auto& [about, told] : mine->told()) {
      documents += told.size();
      for (const std::string& each : told) {
        EXPECT_EQ(each.find("secret"), std::string::npos) << each;
        EXPECT_EQ(each.find("zoe"), std::string::npos) << each;
      }
    }
    EXPECT_GT(documents, 80U);
  }
}

INSTANTIATE_TEST_SUITE_P(WithAsManyCommits, Unseen, ::testing::Values(Numbers::are_the_same));
INSTANTIATE_TEST_SUITE_P(WithMoreOfThem, Unseen, ::testing::Values(Numbers::differ));

}  // namespace
}  // namespace viewgate::testing
