// I7 beside housekeeping: a space is pruned, and records are erased in it, that a principal cannot see. Whoever follows is told nothing of
// that; whoever returns is told by its reason where its history ends, which docs/security.md lists, and nothing else: what each of the
// cursors of the way is answered is foretold from the horizon and from where values were erased.
#include "row_test.hpp"

namespace viewgate::testing {
namespace {

/// Everything that `open` told of one visible record.
struct Told {
  std::int64_t sequence = 0;
  std::string cursor;
  std::string events;
};

class Housekeeping : public Row {
 protected:
  /// Drafts, which no reader of `open` sees, from the first write to the last. Returns the id of the last of them.
  std::string hidden(int count) {
    std::string id;
    for (int i = 0; i < count; ++i) {
      id = next_id();
      run("insert into items (space, id, status, x) values ($1, $2, 'draft', 'secret')", {space, id});
      run("update items set x = 'secret still', n = 7 where space = $1 and id = $2", {space, id});
      run("delete from items where space = $1 and id = $2", {space, id});
    }
    return id;
  }
  /// Returns what every reader must be told of it.
  std::string visible() {
    const std::string id = next_id();
    run("insert into items (space, id, owner, status, n) values ($1, $2, 'carl', 'open', 1.50)", {space, id});
    shown.push_back(R"({"key":[)" + id + R"(],"record":{"id":)" + id + R"(,"owner":"carl","status":"open","n":1.50}})");
    return R"([{"kind":"entered",)" + shown.back().substr(1) + "]";
  }
  void prune(int keep) {
    run("select viewgate.prune($1, $2)", {space, std::to_string(keep)});
    while (line.value("select viewgate.prune_batch($1, 1000)", {space}) != "0") {
    }
  }
  void erase(const std::string& id) {
    EXPECT_EQ(line.value("select viewgate.erase_record($1, 'public.items', $2)", {space, "[" + id + "]"}), "3");
  }
  std::int64_t number_of(const std::string& sql) { return std::stoll(line.value(sql, {space})); }

  const std::string space = line.new_space();
  std::vector<std::string> shown;  ///< the set of `open`, as snapshots write it

 private:
  void run(const std::string& sql, const std::vector<PgValue>& values) { line.session().query(sql, values); }
  static std::string next_id() {
    static int last = 70'000'000;
    return std::to_string(++last);
  }
};

/// Reads on to word that the space has come so far; nothing else may come before that.
void follow_unseen(WsClient& client, std::int64_t head) {
  for (std::int64_t at = 0; at < head;) {
    const Document word = client.next();
    ASSERT_EQ(word.type(), "progress") << word.text;
    at = word.number("sequence");
  }
}

Document next_but_progress(WsClient& client) {
  Document out = client.next();
  while (out.type() == "progress") out = client.next();
  return out;
}

/// What comes next must be the reset, and the whole set behind it.
std::vector<std::string> set_after_reset(WsClient& client, const std::string& reason) {
  std::vector<std::string> out;
  const Document reset = client.next();
  EXPECT_EQ(reset.text, R"({"type":"reset_required","id":"s","reason":")" + reason + "\"}");
  for (Document next = client.next(); next.type() != "ready"; next = client.next()) {
    if (next.type() == "subscribed") continue;
    EXPECT_EQ(next.type(), "snapshot") << next.text;
    if (next.type() != "snapshot") break;
    std::vector<std::string_view> records;
    const std::string text = next.raw("records");
    EXPECT_TRUE(loadtest::elements(text, records));
    out.insert(out.end(), records.begin(), records.end());
  }
  return out;
}

TEST_F(Housekeeping, I7_pruning_and_erasing_what_is_not_seen_tells_nothing_but_where_a_history_ends) {
  constexpr int rounds = 12, last_erased = 8, kept = 40;
  WsClient live(line.port(), line.reader());
  live.also_show("progress");
  const Opened opened = live.open({.space = space});
  std::vector<Told> told;
  for (int round = 0; round < rounds; ++round) {
    const std::string gone = hidden(1 + round % 3);
    follow_unseen(live, line.settled_head(space));
    prune(kept);
    if (round <= last_erased) erase(gone);
    const std::string events = visible();
    const Document commit = next_but_progress(live);
    EXPECT_EQ(commit.type(), "commit") << commit.text;
    EXPECT_EQ(commit.raw("events"), events);
    EXPECT_EQ(commit.number("sequence"), line.settled_head(space));
    told.push_back({commit.number("sequence"), opened.context() + "." + commit.plain("position"), events});
  }

  // A node that has seen none of it, so that the ledger answers and not what a node still holds.
  GatewayProcess fresh(line.gateway_options());
  const std::int64_t retained_from = number_of("select viewgate.retained_from($1)");
  const std::int64_t erased_through = number_of("select erased_through from viewgate.spaces where space = $1");
  std::map<std::string, int> outcomes;
  std::vector<std::unique_ptr<WsClient>> back;
  for (std::size_t i = 0; i < told.size(); ++i) {
    SCOPED_TRACE("the cursor of commit " + std::to_string(told[i].sequence));
    const std::string outcome = told[i].sequence + 1 < retained_from ? "history_pruned"
                                : told[i].sequence < erased_through  ? "state_unavailable"
                                                                     : "resumed";
    ++outcomes[outcome];
    WsClient& client = *back.emplace_back(std::make_unique<WsClient>(fresh.port(), line.reader()));
    if (outcome != "resumed") {
      client.send(subscribe_text({.space = space, .cursor = told[i].cursor}));
      EXPECT_THAT(set_after_reset(client, outcome), ::testing::UnorderedElementsAreArray(shown));
      continue;
    }
    EXPECT_TRUE(client.open({.space = space, .cursor = told[i].cursor}).resumed());
    for (std::size_t next = i + 1; next < told.size(); ++next) {
      const Document commit = client.next();
      EXPECT_EQ(commit.number("sequence"), told[next].sequence);
      EXPECT_EQ(commit.raw("events"), told[next].events);
    }
  }
  EXPECT_EQ(outcomes.size(), 3U) << "each of them is there to be foretold";

  const std::string events = visible();
  for (const auto& client : back) EXPECT_EQ(client->next().raw("events"), events);
  EXPECT_EQ(next_but_progress(live).raw("events"), events);
}

}  // namespace
}  // namespace viewgate::testing
