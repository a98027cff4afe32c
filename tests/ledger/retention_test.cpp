// How long history is kept, and what is taken out of it: rules, the horizon, what the log refuses, erasing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "ledger/sql_log.hpp"
#include "support/eventually.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Retention : public ::testing::Test {
 protected:
  PgSession& session() { return ledger_.session(); }
  std::string value(const std::string& sql) { return session().value(sql); }
  void append(const std::string& space, int n, const std::string& text = "") {
    session().query(
        "select viewgate.append($1, jsonb_build_array(jsonb_build_object('collection', 'notes', 'key', "
        "jsonb_build_array($2::int), 'put', jsonb_build_object('n', $2::int, 'text', $3::text))))",
        {space, std::to_string(n), text});
    ledger_.number_all();
  }
  void erase_record(int n) {
    session().run("select viewgate.append('a', '[{\"collection\": \"notes\", \"key\": [" + std::to_string(n) +
                  "], \"delete\": true}]')");
    session().run("select viewgate.erase_record('a', 'notes', '[" + std::to_string(n) + "]')");
  }
  /// As if these commits had been numbered so long ago: the log itself refuses to be told.
  void age(const std::string& interval, const std::string& condition) {
    session().run(
        "begin; alter table viewgate.commits disable trigger user; update viewgate.commits set numbered_at = "
        "clock_timestamp() - interval '" +
        interval + "' where " + condition +
        "; alter table viewgate.commits enable always trigger append_only;"
        "alter table viewgate.commits enable always trigger only_pruned; commit");
  }
  /// "space kept" of all that may be pruned.
  std::string prunable() {
    return value("select coalesce(string_agg(p.name || ' ' || p.kept, ', '), '') from viewgate.prunable('', 100) p");
  }
  void prune_all() {
    session().run(
        "do $$ declare p record; begin for p in select * from viewgate.prunable('', 100) loop "
        "perform viewgate.prune_before(p.name, p.kept); end loop; end $$");
    while (value("select coalesce(sum(viewgate.prune_batch(h.name, 100)), 0) from viewgate.horizons h") != "0") {
    }
  }
  SqlLedger ledger_;
};

TEST_F(Retention, without_a_rule_everything_is_kept) {
  for (int i = 1; i <= 5; ++i) append("a", i);
  age("10 years", "true");
  EXPECT_EQ(prunable(), "");
  session().run("select viewgate.set_retention('a', null, null)");
  EXPECT_EQ(prunable(), "") << "a rule without limits";
}

TEST_F(Retention, a_space_follows_its_own_rule_and_the_others_the_default) {
  for (const char* space : {"a", "b", "c"}) {
    for (int i = 1; i <= 5; ++i) append(space, i);
  }
  session().run("select viewgate.set_retention(null, 2, null); select viewgate.set_retention('b', 4, null)");
  EXPECT_EQ(prunable(), "a 4, b 2, c 4");
  session().run("select viewgate.set_retention('c', null, null)");
  EXPECT_EQ(prunable(), "a 4, b 2") << "a rule of its own, without limits";
  EXPECT_EQ(value("select viewgate.clear_retention('b')"), "t");
  EXPECT_EQ(value("select viewgate.clear_retention('b')"), "f");
  EXPECT_EQ(prunable(), "a 4, b 4");
  prune_all();
  EXPECT_EQ(prunable(), "");
  EXPECT_EQ(value("select viewgate.retained_from('a') || ' ' || viewgate.retained_from('c')"), "4 1");
}

TEST_F(Retention, what_either_limit_lets_go_goes) {
  for (int i = 1; i <= 10; ++i) append("a", i);
  age("2 hours", "sequence <= 6");
  session().run("select viewgate.set_retention('a', 8, '1 hour')");
  EXPECT_EQ(prunable(), "a 7");
  session().run("select viewgate.set_retention('a', 2, '1 hour')");
  EXPECT_EQ(prunable(), "a 9");
  session().run("select viewgate.set_retention('a', 8, '3 hours')");
  EXPECT_EQ(prunable(), "a 3");
}

TEST_F(Retention, case_05_a_transaction_open_for_longer_than_everything_is_kept_is_kept_when_it_commits) {
  for (int i = 1; i <= 3; ++i) append("a", i);
  PgSession old = ledger_.connect();
  old.run("begin; select viewgate.append('a', '[{\"collection\": \"notes\", \"key\": [9], \"put\": {}}]')");
  // Its own clock says 25 hours, which is when its transaction began.
  old.run("update viewgate.waiting set at = at - interval '25 hours'");
  age("25 hours", "sequence <= 3");
  session().run("select viewgate.set_retention('a', null, '24 hours')");
  old.run("commit");
  ledger_.number_all();
  EXPECT_EQ(prunable(), "a 4");
  prune_all();
  EXPECT_EQ(ledger_.told("a", 3), "c[9]") << "a reader at 3 gets it";
  EXPECT_EQ(value("select at < now() - interval '24 hours' from viewgate.commits"), "t");
}

TEST_F(Retention, a_clock_that_was_set_back_keeps_more_and_never_less) {
  for (int i = 1; i <= 4; ++i) append("a", i);
  age("-3 hours", "sequence = 2");
  age("5 hours", "sequence <> 2");
  session().run("select viewgate.set_retention('a', null, '1 hour')");
  EXPECT_EQ(prunable(), "a 2");
}

TEST_F(Retention, when_all_commits_are_pruned_numbering_goes_on) {
  for (int i = 1; i <= 3; ++i) append("a", i);
  const std::string stamp = value("select head_stamp from viewgate.spaces");
  age("2 hours", "true");
  session().run("select viewgate.set_retention('a', null, '1 hour')");
  prune_all();
  EXPECT_EQ(value("select count(*) from viewgate.commits"), "0");
  EXPECT_EQ(value("select count(*) from viewgate.changes"), "0");
  EXPECT_EQ(value("select viewgate.watermark('a') || ' ' || viewgate.retained_from('a')"), "3 4");
  EXPECT_EQ(value("select viewgate.position_stamp('a', 3)"), stamp) << "who stands at the head goes on";
  append("a", 4);
  EXPECT_EQ(ledger_.told("a", 3), "c[4]");
  EXPECT_EQ(ledger_.head("a"), 4);
}

TEST_F(Retention, what_a_pruner_left_behind_is_found_again) {
  for (int i = 1; i <= 5; ++i) append("a", i);
  session().run("select viewgate.prune('a', 2)");
  EXPECT_EQ(prunable(), "a 4") << "raised, and the pruner died";
  prune_all();
  EXPECT_EQ(value("select count(*) from viewgate.commits"), "2");
}

TEST_F(Retention, a_commit_of_many_changes_is_deleted_piece_by_piece) {
  ledger_.make_table();
  session().run("insert into t select i, 'a', 'x' from generate_series(1, 120000) i");
  session().run("insert into t values (0, 'a', 'y')");
  ledger_.number_all();
  session().run("select viewgate.prune('a', 0)");
  for (const char* left : {"70001", "20001", "1"}) {
    EXPECT_EQ(value("select viewgate.prune_batch('a', 100)"), "1");
    EXPECT_EQ(value("select count(*) from viewgate.changes"), left);
  }
  EXPECT_EQ(value("select count(*) from viewgate.commits"), "1");
  EXPECT_EQ(value("select viewgate.prune_batch('a', 100)"), "1");
  EXPECT_EQ(value("select viewgate.prune_batch('a', 100)"), "0");
  EXPECT_EQ(value("select count(*) from viewgate.changes"), "0");
}

TEST_F(Retention, the_log_refuses_everybody_the_owner_included) {
  append("a", 1);
  for (const char* setting : {"", "set viewgate.rewriting = 'prune';", "set viewgate.rewriting = 'erase';"}) {
    session().run("reset viewgate.rewriting");
    session().run(std::string(setting) + "select 1");
    EXPECT_EQ(session().refusal("delete from viewgate.commits"), "VG005") << setting;
    EXPECT_EQ(session().refusal("delete from viewgate.changes"), "VG005") << setting;
    EXPECT_EQ(session().refusal("update viewgate.commits set stamp = 1"), "VG005") << setting;
    EXPECT_EQ(session().refusal("update viewgate.commits set fields = '{}'"), "VG005") << setting;
    EXPECT_EQ(session().refusal("update viewgate.changes set after = '{}'"), "VG005") << setting;
    EXPECT_EQ(session().refusal("update viewgate.changes set kind = 'e', before = null, after = null, key = '[2]'"),
              "VG005")
        << setting;
    EXPECT_EQ(session().refusal("truncate viewgate.commits, viewgate.changes"), "VG005") << setting;
    session().run("set session_replication_role = replica");
    EXPECT_EQ(session().refusal("delete from viewgate.commits"), "VG005") << setting;
    EXPECT_EQ(session().refusal("delete from viewgate.changes"), "VG005") << setting;
    session().run("set session_replication_role = origin");
  }
  EXPECT_EQ(ledger_.told("a"), "c[1]");
}

TEST_F(Retention, changes_go_only_with_their_commits_below_the_horizon_and_none_that_waits) {
  for (int i = 1; i <= 3; ++i) append("a", i);
  session().run("select viewgate.append('a', '[{\"collection\": \"notes\", \"key\": [4], \"put\": {}}]')");
  session().run("select viewgate.prune_before('a', 3); set viewgate.rewriting = 'prune'");
  const std::string of_key = "delete from viewgate.changes where key = ";
  for (const char* kept : {"'[3]'", "'[4]'"}) {
    EXPECT_EQ(session().refusal(of_key + kept), "VG005") << kept;
    session().run("set viewgate.pruning_through = 1000");
    EXPECT_EQ(session().refusal(of_key + kept), "VG005") << kept;
    session().run("reset viewgate.pruning_through");
  }
  EXPECT_EQ(session().refusal("delete from viewgate.changes"), "VG005") << "one of them is enough";
  session().run("begin; " + of_key + "'[1]'; rollback; reset viewgate.rewriting");
  prune_all();
  EXPECT_EQ(ledger_.told("a", 2), "c[3] | c[4]");
  EXPECT_EQ(value("select count(*) from viewgate.changes"), "2");
}

TEST_F(Retention, erasing_a_record_takes_its_values_and_leaves_sequences_and_other_records) {
  append("a", 1, "secret");
  append("a", 2, "public");
  append("a", 1, "secret still");
  append("b", 1, "secret of another space");
  erase_record(1);
  EXPECT_EQ(ledger_.told("a"), "e[1] | c[2] | e[1] | e[1]");
  EXPECT_EQ(ledger_.told("b"), "c[1]");
  EXPECT_EQ(value("select count(*) from viewgate.changes where space = 'a' and coalesce(before, '') || coalesce(after, "
                  "'') like '%secret%'"),
            "0");
  EXPECT_EQ(value("select erased_through from viewgate.spaces where space = 'a'"), "4");
  append("a", 1, "anew");
  EXPECT_EQ(ledger_.told("a", 4), "c[1]");
  EXPECT_EQ(ledger_.head("a"), 5);
}

TEST_F(Retention, what_clients_asked_for_goes_with_the_record_and_their_receipts_stay) {
  const auto commit = [&](int number, int key, bool is_applied) {
    session().query(
        "with c as (select nextval('viewgate.change_counter') as part), locked as (select viewgate.lock_space('a')), "
        "written as (insert into viewgate.changes (space, part, counter, kind, collection, key, after, groups) "
        "select 'a', part, part, 'c', 'notes', $2, '{\"x\": \"secret\"}', '{record}' from c where $3::boolean) "
        "select viewgate.append_commit(array[jsonb_populate_record(null::viewgate.waiting, jsonb_build_object("
        "'txid', pg_current_xact_id()::text, 'space', 'a', 'name', 'a', 'part', part, 'changes', $3::boolean::int, "
        "'last', part, "
        "'statements', 1, 'source', 'mutation', 'role', current_user, 'at', now(), 'principal', 'ann', 'client', 'c', "
        "'number', $1::bigint, 'receipt', '{\"number\": ' || $1 || '}', 'body', 'secret ' || $1))]) from c, locked",
        {std::to_string(number), "[" + std::to_string(key) + "]", is_applied ? "t" : "f"});
  };
  append("a", 1);
  commit(1, 7, true);
  commit(2, 8, true);
  commit(3, 7, false);  // refused: which record it was about is not known any more
  EXPECT_EQ(value("select viewgate.erase_record('a', 'notes', '[7]')"), "1");
  EXPECT_EQ(value("select string_agg(sequence || ' ' || coalesce(body, '-') || ' ' || receipt, ', ' order by sequence) "
                  "from viewgate.commits where client is not null"),
            R"(2 - {"number": 1}, 3 secret 2 {"number": 2}, 4 - {"number": 3})");
  EXPECT_EQ(value("select string_agg(kind::text || coalesce(array_length(groups, 1)::text, '-'), ' ' order by part) "
                  "from viewgate.changes where key <> '[1]'"),
            "e- c1");
}

TEST_F(Retention, a_record_that_still_exists_is_not_erased) {
  append("a", 1);
  EXPECT_EQ(session().refusal("select viewgate.erase_record('a', 'notes', '[1]')"), "VG006");
  ledger_.make_table();
  session().run("insert into t values (7, 'a', 'secret'), (8, 'a', 'other')");
  EXPECT_EQ(session().refusal("select viewgate.erase_record('a', 'public.t', '[7]')"), "VG006");
  session().run("delete from t where id = 7");
  EXPECT_EQ(value("select viewgate.erase_record('a', 'public.t', '[7]')"), "2");
  EXPECT_EQ(value("select viewgate.erase_record('a', 'public.t', '[7]')"), "0") << "there is nothing left";
  EXPECT_EQ(value("select count(*) from viewgate.changes where concat(before, after) like '%secret%'"), "0");
  EXPECT_EQ(value("select count(*) from viewgate.changes where after like '%other%'"), "1");
}

TEST_F(Retention, a_record_is_erased_whatever_its_key_is_made_of) {
  session().run(
      "create type pair as (n int, s text); create domain doc as jsonb;"
      "create table k (many int[], at timestamptz[], two pair, j jsonb, d doc, n int, space text, "
      "                primary key (many, at, two, j, d, n));"
      "select viewgate.capture('k', 'space');"
      "set timezone = 'Asia/Kolkata';"
      "insert into k values ('{1,2}', '{2024-01-02 03:04:05+00}', '(1,x)', '\"text\"', '{\"a\": [1]}', 7, 'a'),"
      "                     ('{1,3}', '{}', '(1,)', '3', '3', 7, 'a')");
  const std::string key =
      "'[[1, 2], [\"2024-01-02T03:04:05+00:00\"], {\"n\": 1, \"s\": \"x\"}, \"text\", {\"a\": [1]}, 7]'";
  const std::string other = "'[[1, 3], [], {\"n\": 1, \"s\": null}, 3, 3, 7]'";
  EXPECT_EQ(session().refusal("select viewgate.erase_record('a', 'public.k', " + key + ")"), "VG006");
  EXPECT_EQ(session().refusal("select viewgate.erase_record('a', 'public.k', " + other + ")"), "VG006");
  session().run("delete from k where many = '{1,2}'");
  EXPECT_EQ(value("select viewgate.erase_record('a', 'public.k', " + key + ")"), "2");
  EXPECT_EQ(session().refusal("select viewgate.erase_record('a', 'public.k', " + other + ")"), "VG006");
}

TEST_F(Retention, erasing_a_record_takes_what_was_asked_for_and_said_of_it_wherever_it_stands) {
  const auto mutation = [&](int number, const std::string& changes, const std::string& acknowledgement) {
    session().query(
        "insert into viewgate.commits (space, sequence, stamp, part, changes, statements, source, role, at, numbered, "
        "principal, client, number, fields, receipt, body) values ('a', $1, 1, -$1::bigint, $2, 1, 'mutation', 'app', "
        "now(), pg_current_xact_id(), 'ann', 'c', $1, '{\"by\": \"secret\"}', $3, 'secret')",
        {std::to_string(number), changes, "{\"outcome\":\"applied\",\"acknowledgement\":[" + acknowledgement + "]}"});
  };
  const std::string first = R"({"collection":"notes","key":[1],"kind":"unchanged"})";
  const std::string second = R"({"collection":"notes","key":[2],"kind":"updated"})";
  session().run("select viewgate.lock_space('a')");
  // Of two commits with changes of other records one names the record, since it put it as it was; the last was refused.
  mutation(1, "1", first + "," + second);
  mutation(2, "1", second);
  mutation(3, "0", "");
  session().run("begin; select viewgate.tag('import', '{\"of\": \"secret\"}')");
  session().run(
      "select viewgate.append('a', '[{\"collection\": \"notes\", \"key\": [1], \"put\": {\"n\": 1}}]'); commit");
  ledger_.number_all();
  erase_record(1);
  EXPECT_EQ(value("select string_agg(coalesce(body, '-') || coalesce(fields, '-'), ' ' order by sequence) from "
                  "viewgate.commits"),
            "-- secret{\"by\": \"secret\"} -- -- --");
  EXPECT_EQ(value("select count(*) from viewgate.commits where receipt is not null"), "3") << "receipts stay";
  EXPECT_EQ(value("select request_id from viewgate.commits where sequence = 4"), "import");
}

TEST_F(Retention, an_append_that_runs_while_its_space_is_erased_comes_before_or_after_it_and_records_fit_the_log) {
  append("a", 1, "secret");
  append("a", 2, "secret");
  const std::string put = "select viewgate.append('a', '[{\"collection\": \"notes\", \"key\": [";
  PgSession running = ledger_.connect();
  PgSession late = ledger_.connect();
  PgSession eraser = ledger_.connect();
  running.run("begin; " + put + "1], \"put\": {\"n\": 10}}]')");
  late.run("begin; " + put + "3], \"put\": {\"n\": 3}}]')");
  std::thread erasing([&] { eraser.run("select viewgate.erase_space('a')"); });
  EXPECT_TRUE(eventually([&] {
    return value(
               "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%erase_space%'") ==
           "1";
  }));
  running.run("commit");
  erasing.join();
  late.run("commit");
  ledger_.number_all();
  EXPECT_EQ(value("select viewgate.watermark('a')"), "5");
  EXPECT_EQ(ledger_.told("a", 4), "c[3]") << "whoever was waited for was erased, too; who came later was not";
  EXPECT_EQ(value("select string_agg(key, ' ') from viewgate.records where space = 'a'"), "[3]");
  while (value("select viewgate.prune_batch('a', 100)") != "0") {
  }
  EXPECT_EQ(value("select count(*) from viewgate.changes where concat(before, after) like '%secret%'"), "0");
}

TEST_F(Retention, a_client_of_an_erased_space_goes_on_counting) {
  session().run("insert into viewgate.clients values ('a', 'c', 'ann', 7)");
  append("a", 1);
  session().run("select viewgate.erase_space('a')");
  EXPECT_EQ(value("select principal || ' ' || last from viewgate.clients where space = 'a'"), "ann 7");
}

TEST_F(Retention, erasing_a_space_leaves_its_name_and_its_numbering) {
  for (int i = 1; i <= 3; ++i) append("a", i, "secret");
  append("b", 1, "kept");
  session().run("select viewgate.set_retention('a', 5, null)");
  const std::string before = value("select viewgate.look(null)::text");
  EXPECT_EQ(value("select viewgate.erase_space('a')"), "4");
  while (value("select viewgate.prune_batch('a', 100)") != "0") {
  }
  for (const char* table : {"commits", "changes", "records", "waiting", "retention"}) {
    EXPECT_EQ(value(std::string("select count(*) from viewgate.") + table + " where space = 'a'"), "0") << table;
  }
  EXPECT_EQ(value("select retained_from || ' ' || viewgate.watermark('a') from viewgate.horizons where space = 'a'"),
            "5 4");
  EXPECT_EQ(ledger_.told("b"), "c[1]");
  append("a", 1, "anew");
  EXPECT_EQ(ledger_.told("a", 4), "c[1]");
}

}  // namespace
}  // namespace viewgate::testing
