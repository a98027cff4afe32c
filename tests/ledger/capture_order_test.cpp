// The order in which the log tells what one transaction did to a record, where statements run inside statements: triggers of the
// application that write the table which fired them, and foreign keys that write a row more than once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "ledger/sql_log.hpp"
#include "support/postgres_cluster.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

class CaptureOrder : public LedgerUnderIsolation {
 protected:
  /// The trigger does to each new row what its v says.
  void obey(const std::string& when = "after", const std::string& returned = "null") {
    writer_.run(
        "create function obey() returns trigger language plpgsql as $$ begin case new.v "
        "when 'gone' then delete from t where id = new.id; "
        "when 'away' then update t set space = 'b' where id = new.id and space <> 'b'; "
        "when 'back' then update t set v = 'calm' where id = new.id; "
        "when 'deep' then update t set v = 'gone' where id = new.id; "
        "when 'deeper' then update t set v = 'deep' where id = new.id; "
        "when 'anew' then delete from t where id = new.id; insert into t values (new.id, new.space, 'calm'); "
        "when 'all' then delete from t where space = new.space; "
        "when 'tried' then begin delete from t where id = new.id; raise 'no'; exception when raise_exception then end; "
        "else end case; return " +
        returned +
        "; end $$;"
        "create trigger obey " +
        when + " insert or update on t for each row execute function obey()");
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, CaptureOrder, ::testing::Values("read committed", "repeatable read"),
                         CaptureOrder::name);

TEST_P(CaptureOrder, a_row_that_its_own_trigger_deletes_is_told_as_created_and_then_deleted) {
  obey();
  write("insert into t values (1, 'a', 'gone')");
  write("insert into t values (1, 'a', 'calm')");
  write("update t set v = 'gone'");
  write("insert into t values (1, 'a', 'gone'), (2, 'a', 'calm'), (3, 'a', 'gone')");
  write("begin; insert into t values (1, 'a', 'gone'); insert into t values (1, 'a', 'gone'); commit");
  EXPECT_EQ(ledger_.told("a"), "c[1] d[1] | c[1] | u[1] d[1] | c[1] c[3] d[1] c[2] d[3] | c[1] d[1] c[1] d[1]");
}

TEST_P(CaptureOrder, a_row_that_its_own_trigger_moves_is_told_as_created_and_then_moved) {
  obey();
  write("insert into t values (1, 'a', 'away')");
  write("insert into t values (2, 'a', 'away'), (3, 'a', 'away')");
  write("update t set space = 'c'");
  EXPECT_EQ(ledger_.told("a"), "c[1] m[1] | c[2] c[3] m[2] m[3]");
  EXPECT_EQ(ledger_.head("b"), 3);
}

TEST_P(CaptureOrder, a_row_whose_old_text_its_own_trigger_puts_back_is_told_with_that_text_last) {
  obey();
  write("insert into t values (1, 'a', 'calm'), (2, 'a', 'calm')");
  write("update t set v = 'back' where id = 1");
  write("update t set v = 'back'");
  write("update t set v = case id when 1 then 'back' else 'other' end");
  EXPECT_THAT(ledger_.log("a").back().after, ::testing::HasSubstr("calm"));
}

TEST_P(CaptureOrder, triggers_three_deep_are_told_in_the_order_of_the_record) {
  obey();
  write("insert into t values (1, 'a', 'deep')");
  write("insert into t values (1, 'a', 'deeper')");
  EXPECT_EQ(ledger_.told("a"), "c[1] u[1] d[1] | c[1] u[1] u[1] d[1]");
  write("insert into t values (1, 'a', 'deeper'), (2, 'a', 'anew'), (3, 'a', 'calm'), (4, 'b', 'deep')");
  write("update t set v = 'anew'");
  write("update t set v = 'deeper', space = case id when 2 then 'b' else space end");
}

TEST_P(CaptureOrder, a_trigger_that_writes_other_rows_of_the_statement_is_told_in_the_order_of_each) {
  obey();
  write("insert into t values (1, 'a', 'calm'), (2, 'a', 'calm'), (3, 'b', 'calm')");
  write("insert into t values (4, 'a', 'calm'), (5, 'a', 'all'), (6, 'b', 'calm')");
  EXPECT_EQ(ledger_.session().value("select count(*) from t where space = 'a'"), "0");
  write("update t set v = case id when 6 then 'all' else 'other' end");
  EXPECT_EQ(ledger_.session().value("select count(*) from t"), "0");
}

TEST_P(CaptureOrder, what_is_taken_back_inside_a_trigger_or_by_a_savepoint_leaves_no_trace_in_the_order) {
  obey();
  write("insert into t values (1, 'a', 'tried')");
  write("update t set v = 'tried', space = 'c'");
  write(
      "begin; savepoint s; insert into t values (2, 'a', 'gone'); rollback to s; insert into t values (2, 'a', 'gone');"
      "savepoint s2; insert into t values (2, 'a', 'calm'); rollback to s2; insert into t values (3, 'a', 'away'); "
      "savepoint s3; update t set v = 'back' where id = 1; release s3; commit");
  EXPECT_EQ(ledger_.told("a", 1), "m[1] | c[2] d[2] c[3] m[3]");
}

TEST_P(CaptureOrder, a_trigger_of_a_statement_and_one_that_fires_before_are_told_in_the_order_of_the_record) {
  obey("before", "new");
  write("insert into t values (1, 'a', 'gone'), (2, 'a', 'calm')");
  writer_.run("drop trigger obey on t");
  // Before ours in the order of names, and after it.
  for (const char* name : {"sweep", "zero"}) {
    writer_.run(
        "create or replace function sweep() returns trigger language plpgsql as $$ begin delete from t where v = "
        "'gone'; update t set v = 'calm' where v = 'back'; return null; end $$; create trigger " +
        std::string(name) +
        " after insert or update on t for each statement when (pg_trigger_depth() < 1) execute function sweep()");
    write("delete from t");
    write("insert into t values (1, 'a', 'gone'), (2, 'a', 'calm'), (3, 'b', 'gone')");
    write("update t set v = 'back'");
    writer_.run(std::string("drop trigger ") + name + " on t");
  }
}

TEST_P(CaptureOrder, a_row_that_a_before_trigger_clears_away_and_that_comes_again_as_it_was_is_told_as_deleted_first) {
  writer_.run(
      "create function clear() returns trigger language plpgsql as $$ begin delete from t where id = new.id; return "
      "new; end $$;"
      "create trigger clear before insert on t for each row execute function clear()");
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x')");
  write("insert into t values (1, 'a', 'x')");
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x')");
  EXPECT_EQ(ledger_.told("a", 1), "d[1] c[1] | d[1] d[2] c[1] c[2]");
}

// Both keys write the row in one statement: two steps, that stand among the old and the new rows of one trigger.
TEST_P(CaptureOrder, a_row_that_two_foreign_keys_write_is_told_step_by_step) {
  writer_.run(
      "create table person (id int primary key); insert into person values (1), (2);"
      "alter table t add column sender int references person on update cascade on delete set null,"
      " add column receiver int references person on update cascade on delete set null,"
      " add column answers int references t on update cascade");
  write("insert into t values (1, 'a', 'x', 1, 1), (2, 'a', 'x', 1, 2), (3, 'b', 'x', 2, 2)");
  write("update person set id = 5 where id = 1");
  EXPECT_EQ(ledger_.told("a", 1), "u[1] u[2] u[1]");
  write("update person set id = id + 10");
  write("delete from person");
  write("update t set answers = 1 where id = 2; update t set answers = 3 where id = 3");
  write("update t set id = id + 10");
  write("update t set space = 'c', id = id + 10 where id > 11");
}

TEST_P(CaptureOrder, a_key_of_any_type_finds_the_record_again) {
  writer_.run(
      "create extension citext; create schema far; create type far.mood as enum ('good', 'bad'); "
      "create domain far.code as text; "
      "create table odd (r citext, k1 far.mood, \"K 2\" numeric, d far.code, l int[], j jsonb, space text, v text, "
      "told jsonb default '{}', present jsonb default '{}', "
      "primary key (r, k1, \"K 2\", d, l, j));"
      "select viewgate.capture('odd', 'space');"
      "create function drop_it() returns trigger language plpgsql as $$ begin "
      "  if new.v = 'gone' then delete from odd where r = new.r; else update odd set v = 'gone' where r = new.r; end "
      "if;"
      "  return null; end $$;"
      "create trigger drop_it after insert or update on odd for each row execute function drop_it()");
  for (const char* rows :
       {"('One', 'good', 1.10, 'c', '{1,2}', '{\"a\": 1}', 'a', 'gone')",
        "('One', 'good', 1.10, 'c', '{1,2}', '5', 'a', 'gone'), ('two', 'bad', 2, 'd', '{}', '[]', 'a', 'x')"}) {
    writer_.run(std::string("insert into odd values ") + rows);
    expect_fold_is_table(ledger_, "public.odd", "a");
  }
}

// The owner of the schema may read the table no more, or not all of it: then the order is not known, but the write stands.
TEST_P(CaptureOrder, a_write_never_fails_because_its_order_cannot_be_found) {
  const std::string owner = "keeper_" + std::to_string(::getpid()) + "_" + std::string(1, GetParam()[2]);
  ledger_.session().run("create role " + owner + "; grant usage on schema public to " + owner +
                        "; grant select on t to " + owner + "; grant " + owner +
                        " to current_user;"
                        "alter schema viewgate owner to " +
                        owner + "; grant all on all tables in schema viewgate to " + owner +
                        "; grant all on all sequences in schema viewgate to " + owner +
                        "; grant execute on all functions in schema viewgate to " + owner +
                        "; drop table t; create table t (id int primary key, space text, v text);"
                        "grant select on t to " +
                        owner + "; select viewgate.capture('t', 'space')");
  obey();
  write("insert into t values (1, 'a', 'gone')");
  EXPECT_EQ(ledger_.told("a"), "c[1] d[1]");
  ledger_.session().run("revoke select on t from " + owner);
  writer_.run("insert into t values (2, 'a', 'gone'), (3, 'a', 'back')");
  ledger_.session().run("grant select on t to " + owner + "; alter table t enable row level security");
  writer_.run("insert into t values (4, 'a', 'gone'), (5, 'a', 'back')");
  ledger_.session().run("alter table t disable row level security; alter table t rename id to number");
  writer_.run(
      "create or replace function obey() returns trigger language plpgsql as $$ begin delete from t where v = 'gone'; "
      "return null; end $$; insert into t values (6, 'a', 'gone'), (7, 'a', 'back')");
  writer_.run("alter table t rename number to id; set lock_timeout = 1; insert into t values (8, 'a', 'gone')");
  EXPECT_EQ(writer_.value("select string_agg(id::text, ' ' order by id) from t"), "3 5 7");
  ledger_.session().run("drop table t; alter schema viewgate owner to current_user; drop owned by " + owner +
                        "; drop role " + owner);
}

TEST_P(CaptureOrder, of_a_large_statement_only_what_was_written_again_inside_it_is_compared) {
  obey();
  write("insert into t select g, 'a', case g when 700 then 'gone' else 'calm' end from generate_series(1, 1500) g");
  const std::string compared = "select count(overtaken) from viewgate.changes";
  EXPECT_EQ(ledger_.session().value(compared), "1");
  // Where as much was written inside it, all of it is.
  write("update t set v = case when id % 3 = 0 then 'back' when id % 3 = 1 then 'gone' else 'away' end");
  EXPECT_GT(std::stoi(ledger_.session().value(compared)), 1499);
}

// What a trigger of another table writes is nested in nothing that writes this table.
TEST_P(CaptureOrder, a_table_that_another_ones_trigger_writes_is_compared_with_nothing) {
  writer_.run(
      "create table source (id int primary key);"
      "create function spread() returns trigger language plpgsql as $$ begin insert into t values (new.id, 'a', "
      "'new'); "
      "update t set v = 'a much longer text of a statement' where id = new.id; delete from t where id = new.id - 1; "
      "return null; end $$;"
      "create trigger spread after insert on source for each row execute function spread();"
      "set track_functions = 'all'");
  writer_.run("begin; insert into source select generate_series(1, 100)");
  EXPECT_EQ(writer_.value("select sum(calls) from pg_stat_xact_user_functions where funcname = 'told_inside'"), "1");
  write("update t set v = 'directly'; commit");
  EXPECT_EQ(ledger_.session().value("select count(overtaken) from viewgate.changes"), "0");
}

/// In SERIALIZABLE a read of ours could be what makes a transaction fail. So nothing is compared there: a row that ends as it began
/// may have its changes in another order, every other one is told as it was.
class CaptureOrderSerializable : public ::testing::Test {
 protected:
  CaptureOrderSerializable() {
    ledger_.session().run(
        "create table tree (id int primary key, parent int, n int not null default 0, space text default 'a');"
        "insert into tree select generate_series(1, 20000); select viewgate.capture('tree', 'space');"
        "create function count_up() returns trigger language plpgsql as $$ begin "
        "update tree set n = n + 1 where id = new.parent; if new.parent = 0 then delete from tree where id = new.id; "
        "end if; return null; end $$;"
        "create trigger count_up after insert on tree for each row execute function count_up()");
    ledger_.session().run("vacuum analyze tree");
  }
  SqlLedger ledger_;
};

TEST_F(CaptureOrderSerializable, who_writes_rows_side_by_side_whose_triggers_write_others_does_not_fail_because_of_us) {
  PgSession one = ledger_.connect();
  PgSession other = ledger_.connect();
  one.run("begin isolation level serializable");
  other.run("begin isolation level serializable");
  for (int id = 30001; id < 30021; id += 2) {
    EXPECT_EQ(one.refusal("insert into tree values (" + std::to_string(id) + ", 100)"), "");
    EXPECT_EQ(other.refusal("insert into tree values (" + std::to_string(id + 1) + ", 10000)"), "");
  }
  EXPECT_EQ(one.refusal("commit"), "");
  EXPECT_EQ(other.refusal("commit"), "");
  ledger_.number_all();
  EXPECT_EQ(ledger_.head("a"), 2);
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.changes where overtaken is not null"), "0");
}

TEST_F(CaptureOrderSerializable, all_is_told_and_in_order_where_a_row_does_not_end_as_it_began) {
  PgSession writer = ledger_.connect();
  writer.run("set default_transaction_isolation = 'serializable'");
  writer.run(
      "begin; insert into tree values (30001, 1); insert into tree values (30002, 30001), (30003, 30001); commit");
  writer.run("insert into tree values (30004, 0)");
  ledger_.number_all();
  const std::string told = ledger_.told("a");
  const std::string first = "u[1] c[30001] u[30001] u[30001] c[30002] c[30003]";
  EXPECT_THAT(told, ::testing::AnyOf(first + " | c[30004] d[30004]", first + " | d[30004] c[30004]"));
}

/// Of one transaction's changes those of records that have changed: what they were, and what they are.
std::vector<LoggedChange> of_changed(std::vector<LoggedChange> log, const Records& were, const Records& are) {
  const auto text = [](const Records& records, const LoggedChange& of) {
    const auto found = records.find({of.collection, of.key});
    return found == records.end() ? std::string() : found->second;
  };
  std::erase_if(log, [&](const LoggedChange& change) { return text(were, change) == text(are, change); });
  std::ranges::sort(log, {}, &LoggedChange::ordinal);
  for (std::size_t nth = 0; nth < log.size(); ++nth) log[nth].ordinal = std::int64_t(nth);
  return log;
}

/// Triggers that do what comes into their mind, drawn from a seed.
class Whims {
 public:
  explicit Whims(unsigned seed) : random_(seed) {}
  /// Its commands: all statements in one, or each in its own.
  std::vector<std::string> transaction() {
    std::vector<std::string> commands{"begin"};
    for (int left = draw(1, 3); left > 0; --left) {
      const bool is_savepoint = draw(0, 5) == 0;
      if (is_savepoint) commands.emplace_back("savepoint s");
      commands.push_back(statement());
      if (is_savepoint) commands.emplace_back(draw(0, 1) == 0 ? "rollback to s" : "release s");
    }
    commands.emplace_back("commit");
    if (draw(0, 1) == 0) return commands;
    std::string all;
    for (const std::string& each : commands) all += each + "; ";
    return {all};
  }
  /// When the trigger fires, where its name stands beside ours, and how often it does something.
  std::string trigger() {
    const bool is_row = draw(0, 2) > 0;
    const bool is_before = is_row && draw(0, 3) == 0;
    return "drop trigger if exists a_whim on t; drop trigger if exists z_whim on t; create trigger " +
           std::string(draw(0, 1) == 0 ? "a_whim " : "z_whim ") + (is_before ? "before" : "after") +
           pick({" insert on t", " update on t", " delete on t", " insert or update on t",
                 " insert or update or delete on t"}) +
           " for each " + (is_row ? "row" : "statement") + " execute function whim()";
  }
  std::string setseed() { return "select setseed(" + std::to_string(draw(0, 1000000) / 1e6) + ")"; }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::string pick(const std::vector<std::string>& of) { return of[std::size_t(draw(0, int(of.size()) - 1))]; }
  std::string statement() {
    return pick({"insert into t values (1, 'a', 'x'), (2, 'a', 'y') on conflict do nothing",
                 "insert into t values (3, 'a', 'x') on conflict (id) do update set v = excluded.v",
                 "insert into t select g, 'a', 'x', o.id, o.id from generate_series(1, 4) g, (select min(id) as id "
                 "from other) o on conflict do nothing",
                 "update t set v = 'x'", "update t set v = 'y' where id < 3", "update t set space = 'b' where id < 3",
                 "update t set space = 'a'", "update t set id = id + 5 where id = 2",
                 "update t set id = id - 5 where id > 5", "delete from t where id = 1", "delete from t",
                 "update other set id = id + 2 where id < 3", "update other set id = id - 2 where id > 2",
                 "delete from other where id = 1", "insert into other values (1) on conflict do nothing",
                 "update t set one = 1, two = 1 where exists (select from other where id = 1)"});
  }
  std::mt19937 random_;
};

TEST(CaptureOrderProperty, folding_the_log_gives_the_table_whatever_triggers_do) {
  const unsigned seed = seed_from_environment(1);  // the same each time, unless another one is given
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  Whims whims(seed);
  SqlLedger ledger;
  ledger.make_table();
  PgSession writer = ledger.connect();
  writer.run(
      "create table other (id int primary key); insert into other values (1), (2);"
      "alter table t add column one int references other on update cascade on delete set null,"
      " add column two int references other on update cascade on delete cascade;"
      "create function whim() returns trigger language plpgsql as $$ declare "
      "  k int := 1 + floor(random() * 4); s text := (array['a', 'b', 'c'])[1 + floor(random() * 3)::int]; "
      "  w text := (array['x', 'y'])[1 + floor(random() * 2)::int]; "
      "begin "
      "  if pg_trigger_depth() < 4 and random() < 0.5 then begin "
      "    case floor(random() * 10)::int "
      "    when 0 then delete from t where id = k; "
      "    when 1 then update t set v = w where id = k; "
      "    when 2 then update t set space = s where id = k; "
      "    when 3 then insert into t values (k, s, w) on conflict do nothing; "
      "    when 4 then insert into t values (k, s, w) on conflict (id) do update set v = w, space = s; "
      "    when 5 then update t set v = w; "
      "    when 6 then delete from t where v = w; "
      "    when 7 then update t set id = k + 5 where id = k; "
      "    when 8 then delete from t where id = k; insert into t values (k, s, w, 1, 1); "
      "    else update other set id = id + 2 where id = k; end case; "
      "    if random() < 0.1 then raise 'taken back'; end if; "
      "  exception when others then null; end; end if; "
      "  return case when TG_WHEN = 'BEFORE' then case when TG_OP = 'DELETE' then old else new end end; "
      "end $$");
  std::map<std::string, Records> folded;
  std::map<std::string, std::int64_t> after;
  int written = 0;
  for (int round = 0; round < 40 && !HasFatalFailure() && !HasNonfatalFailure(); ++round) {
    const std::string trigger = whims.trigger();
    writer.run(trigger + "; " + whims.setseed());
    const bool is_serializable = round % 3 == 0;
    writer.run(std::string("set default_transaction_isolation = '") + (is_serializable  ? "serializable'"
                                                                       : round % 3 == 1 ? "repeatable read'"
                                                                                        : "read committed'"));
    for (int nth = 0; nth < 6; ++nth) {
      // What PostgreSQL refuses (a row that its own BEFORE trigger has changed, a key that is there) is rolled back.
      std::string trace = trigger;
      std::string refusal;
      for (const std::string& command : whims.transaction()) {
        trace += "; " + command;
        refusal = writer.refusal(command);
        if (!refusal.empty()) break;
      }
      if (!refusal.empty()) writer.run("rollback");
      written += refusal.empty();
      SCOPED_TRACE(trace);
      EXPECT_THAT(refusal, ::testing::AnyOf("", "21000", "27000", "23505", "23503"));
      ledger.number_all();
      for (const std::string space : {"a", "b", "c"}) {
        const Records now = ledger.table("public.t", space);
        std::vector<LoggedChange> log = ledger.log(space, after[space]);
        if (is_serializable) log = of_changed(std::move(log), folded[space], now);
        fold(std::move(log), folded[space], after[space]);
        after[space] = ledger.head(space);
        EXPECT_EQ(folded[space], now) << "space " << space;
      }
    }
  }
  EXPECT_GT(written, 60);
}

}  // namespace
}  // namespace viewgate::testing
