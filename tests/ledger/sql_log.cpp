#include "ledger/sql_log.hpp"

#include <algorithm>

#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

SqlLedger::SqlLedger() : SqlLedger(PostgresCluster::shared().create_database()) {}

void SqlLedger::make_table() {
  session_.run(
      "create table public.t (id int primary key, space text, v text);"
      "select viewgate.capture('public.t', 'space')");
}

std::int64_t SqlLedger::number_all() { return std::stoll(session_.value("select numbered from viewgate.look()")); }

std::vector<LoggedChange> SqlLedger::log(const std::string& space, std::int64_t after) {
  const PgRows rows = session_.query(
      "select sequence, ordinal, kind, collection, key, before, after from viewgate.read_log(array[$1], "
      "array[$2::bigint], "
      "2000000000) where ordinal >= 0 or changes = 0",
      {space, std::to_string(after)});
  std::vector<LoggedChange> changes;
  for (const PgRow& row : rows) {
    changes.push_back({std::stoll(row[0].value()), std::stoll(row[1].value()), row[2].value_or(""), row[3].value_or(""),
                       row[4].value_or(""), row[5].value_or(""), row[6].value_or("")});
  }
  return changes;
}

std::string SqlLedger::told(const std::string& space, std::int64_t after) {
  number_all();
  std::string text;
  std::int64_t sequence = 0;
  for (const LoggedChange& change : log(space, after)) {
    if (!text.empty()) text += change.sequence == sequence ? " " : " | ";
    sequence = change.sequence;
    text += change.kind + change.key;
  }
  return text;
}

std::int64_t SqlLedger::head(const std::string& space) {
  return std::stoll(session_.value("select viewgate.watermark($1)", {space}));
}

Records SqlLedger::table(const std::string& name, const std::string& space, const std::string& space_column) {
  Records records;
  const std::string keys = session_.value(
      "select string_agg(format('j -> %L', k), ', ') from viewgate.captures c, unnest(c.key_columns) k "
      "where c.relation = $1::regclass",
      {name});
  const PgRows rows =
      session_.query("select jsonb_build_array(" + keys + ")::text, j::text from (select to_jsonb(r.*) as j from " +
                         name + " r where r." + space_column + "::text = $1) x",
                     {space});
  for (const PgRow& row : rows) records[{name, row[0].value()}] = row[1].value();
  return records;
}

void fold(std::vector<LoggedChange> log, Records& state, std::int64_t after) {
  // A commit of more than 500 changes comes by key; its ordinals still say what came first.
  std::stable_sort(log.begin(), log.end(), [](const LoggedChange& one, const LoggedChange& other) {
    return std::pair(one.sequence, one.ordinal) < std::pair(other.sequence, other.ordinal);
  });
  std::int64_t sequence = after;
  std::int64_t ordinal = -1;
  for (const LoggedChange& change : log) {
    if (change.sequence != sequence) {
      ASSERT_EQ(change.sequence, sequence + 1) << "a gap in the log";
      sequence = change.sequence;
      ordinal = -1;
    }
    ASSERT_EQ(change.ordinal, ++ordinal) << "in commit " << sequence;
    const auto where = std::pair(change.collection, change.key);
    const auto held = state.find(where);
    ASSERT_EQ(change.before, held == state.end() ? "" : held->second)
        << "before of " << change.key << " in commit " << sequence << " ordinal " << ordinal;
    if (change.after.empty()) {
      state.erase(where);
    } else {
      state[where] = change.after;
    }
  }
}

void expect_fold_is_table(SqlLedger& ledger, const std::string& table, const std::string& space,
                          const std::string& space_column) {
  ledger.number_all();
  Records state;
  fold(ledger.log(space), state);
  EXPECT_EQ(state, ledger.table(table, space, space_column)) << "space " << space;
}

LedgerUnderIsolation::LedgerUnderIsolation() {
  ledger_.make_table();
  writer_.run(std::string("set default_transaction_isolation = '") + GetParam() + "'");
}

std::string LedgerUnderIsolation::name(const ::testing::TestParamInfo<const char*>& level) {
  std::string name = level.param;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

void LedgerUnderIsolation::write(const std::string& sql) {
  writer_.run(sql);
  check();
}

void LedgerUnderIsolation::check() {
  for (const char* space : {"a", "b", "c"}) expect_fold_is_table(ledger_, "public.t", space);
}

}  // namespace viewgate::testing
