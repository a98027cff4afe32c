// The storm. Goal: whatever is killed, every acknowledged mutation is in the log exactly once, one that was not acknowledged is
// there whole or not at all, numbers have no gaps, and readers see one history. Method: sixteen writers (back-ends that append
// and write a captured table, clients of the ledger's API, clients of the gateway's HTTP) and readers at full speed, while
// sessions are terminated, the gateway and all of PostgreSQL are killed by SIGKILL, again and again. In the end the log is
// walked beside the model, and everything that was ever sent is sent once more.
//
// VIEWGATE_STORM_SECONDS and VIEWGATE_SEED choose its length and its choices.
#include <iostream>

#include "ledger/contract/model_ledger.hpp"
#include "ledger/contract/postgres_adapter.hpp"
#include "ledger/contract/storm_people.hpp"
#include "support/line.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using ledger::Commit;
using ledger::MutationAnswer;
using ledger::Sequence;
using Clock = std::chrono::steady_clock;

class Storm : public ::testing::Test {
 protected:
  Storm() : cluster_({.durability = ledger::Durability::durable}), line_(cluster_) {
    storm_.conninfo = line_.database();
    storm_.port = line_.port();
    storm_.token = line_.reader();
    storm_.spaces = {"storm1", "storm2"};
  }

  void gather(unsigned seed) {
    for (unsigned i = 0; i < 8; ++i) back_ends_.push_back(std::make_unique<StormBackEnd>(storm_, seed + i));
    for (unsigned i = 0; i < 4; ++i) {
      const std::string& space = storm_.spaces[i % 2];
      clients_.push_back(std::make_unique<StormClient>(storm_, seed + 100 + i, "c" + std::to_string(i), space));
      web_.push_back(std::make_unique<StormWebClient>(storm_, seed + 200 + i, "w" + std::to_string(i), space));
      if (i < 2) readers_.push_back(std::make_unique<StormReader>(storm_, seed + 300 + i, space));
    }
    for (const auto& each : back_ends_) everybody_.push_back(each.get());
    for (const auto& each : clients_) everybody_.push_back(each.get());
    for (const auto& each : web_) everybody_.push_back(each.get());
    for (const auto& each : readers_) everybody_.push_back(each.get());
  }

  /// Sessions are terminated all the time; the gateway and PostgreSQL are killed in turn.
  void blow(std::chrono::seconds duration, unsigned seed) {
    std::mt19937 random(seed);
    const auto pause = [&random](int from, int to) {
      return std::chrono::milliseconds(from + static_cast<int>(random() % static_cast<unsigned>(to - from)));
    };
    const Clock::time_point end = Clock::now() + duration;
    const auto has_happened = [this] {
      return gateway_kills_ >= 2 && postgres_kills_ >= 2 && storm_.acknowledged >= 50 && storm_.by_http >= 20;
    };
    while (Clock::now() < end || (!has_happened() && Clock::now() < end + std::chrono::minutes(2))) {
      for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(pause(50, 400));
        terminate(static_cast<unsigned>(random() % 1000));
      }
      const bool is_even = gateway_kills_ == postgres_kills_;
      if (is_even ? random() % 2 == 0 : gateway_kills_ < postgres_kills_) {
        line_.gateway().process().kill();
        ++gateway_kills_;
        std::this_thread::sleep_for(pause(0, 200));
        line_.gateway().start_again();
      } else {
        cluster_.restart(ledger::Shutdown::kill);
        ++postgres_kills_;
      }
    }
  }

  void terminate(unsigned seed) {
    PgSession(storm_.conninfo)
        .query(
            "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and "
            "datname = current_database() and pid <> pg_backend_pid() and hashint4(pid + $1::int) % 4 = 0",
            {std::to_string(seed)});
  }

  /// What each space's log says, beside the model.
  void check(const std::string& space, const std::vector<Commit>& log) {
    SCOPED_TRACE(space);
    ModelLedger model;
    std::map<std::string, std::size_t> processed;
    std::int64_t sequence = 0;
    for (const Commit& commit : log) {
      ASSERT_EQ(commit.position.sequence.value, ++sequence);
      Commit expected;
      if (commit.receipt) {
        const std::string& name = commit.provenance.client;
        ASSERT_EQ(static_cast<std::size_t>(commit.receipt->number), ++processed[name]) << name;
        if (name.starts_with('c')) {
          const StormClient& client = *clients_.at(static_cast<std::size_t>(std::stoi(name.substr(1))));
          const auto& sent = client.sent().at(processed[name] - 1);
          const auto answer = model.mutate({sent}, std::make_shared<OpenRules>());
          EXPECT_EQ(commit.receipt->text, answer.at(0)->receipt.text);
          EXPECT_EQ(commit.receipt->body, sent.body);
          expected = model.pull(space, Sequence{sequence - 1}, 1)->commits.at(0);
        }
      }
      if (expected.position.sequence != commit.position.sequence) expected = model.follow(commit);
      ASSERT_EQ(changes_of(commit), changes_of(expected)) << "commit " << sequence << "\n" << as_stored(space, commit);
    }
    for (const auto& client : clients_) {
      if (client->space() == space) expect_processed(processed[client->name()], client->told(), client->sent().size());
    }
    for (const auto& client : web_) {
      if (client->space() == space) expect_processed(processed[client->name()], client->told(), client->sent().size());
    }
    std::map<std::string, std::string> records;
    for (const PgRow& row : line_.session().query(
             "select key, value::text from viewgate.records where space = $1 and collection = 'issues'", {space})) {
      records[*row[0]] = *row[1];
    }
    EXPECT_EQ(records, model.records(space, "issues"));
  }

  /// How the ledger's tables have the records of a commit, from their beginning.
  std::string as_stored(const std::string& space, const Commit& commit) {
    std::string out;
    for (const ledger::Change& change : commit.changes) {
      for (const PgRow& row : line_.session().query(
               "select concat_ws(' ', k.sequence, k.source, k.client, k.number, 'numbered by', k.numbered, 'changes', "
               "k.changes, 'part', "
               "c.part, 'counter', c.counter, c.kind, c.collection, c.key, c.before, '>', c.after, 'written by', "
               "c.xmin) "
               "from viewgate.changes c left join viewgate.commits k using (space, part) "
               "where c.space = $1 and c.collection = $2 and c.key = $3 order by k.sequence, c.counter",
               {space, change.collection, change.key})) {
        out += *row[0] + "\n";
      }
    }
    return out;
  }

  /// Every acknowledged one, and of what was not acknowledged at most the last.
  static void expect_processed(std::size_t processed, const std::vector<std::string>& told, std::size_t sent) {
    EXPECT_GE(processed, told.size()) << "an acknowledged mutation is lost";
    EXPECT_LE(processed, sent);
  }

  static std::string changes_of(const Commit& commit) {
    std::string out;
    for (const ledger::Change& change : commit.changes) {
      out += std::to_string(change.ordinal) + " " + std::to_string(static_cast<int>(change.kind)) + " " +
             change.collection + change.key + " " + change.before.value_or("-") + " > " + change.after.value_or("-") +
             "\n";
    }
    return out;
  }

  /// Sends everything once more. Returns how many commits that made: of what was never processed.
  std::size_t send_again() {
    PostgresAdapter ledger(cluster_, line_.database());
    std::size_t made = 0;
    for (const auto& client : clients_) {
      for (std::size_t i = 0; i < client->sent().size(); ++i) {
        auto answers = ledger.mutate({client->sent()[i]}, std::make_shared<OpenRules>());
        const MutationAnswer answer = value_of(std::move(answers.front()));
        if (answer.kind == MutationAnswer::Kind::receipt) ++made;
        const bool was_told = i < client->told().size();
        EXPECT_EQ(answer.kind == MutationAnswer::Kind::replay || !was_told, true) << client->name() << " " << i + 1;
        if (was_told) {
          EXPECT_EQ(answer.receipt.text, client->told()[i]);
        }
      }
    }
    for (const auto& client : web_) {
      for (std::size_t i = 0; i < client->told().size(); ++i) {
        std::string again;  // empty: the gateway has no connection after the storm yet
        EXPECT_TRUE(
            eventually([&] { return !(again = client->post(client->sent()[i])).empty(); }, std::chrono::minutes(1)));
        EXPECT_EQ(again, client->told()[i]);
      }
    }
    return made;
  }

  PostgresCluster cluster_;
  Line line_;
  StormPlace storm_;
  std::vector<std::unique_ptr<StormBackEnd>> back_ends_;
  std::vector<std::unique_ptr<StormClient>> clients_;
  std::vector<std::unique_ptr<StormWebClient>> web_;
  std::vector<std::unique_ptr<StormReader>> readers_;
  std::vector<StormPerson*> everybody_;
  int gateway_kills_ = 0;
  int postgres_kills_ = 0;
};

TEST_F(Storm, nothing_acknowledged_is_lost_or_done_twice_and_there_is_one_history) {
  const std::chrono::seconds duration(number_from_environment("VIEWGATE_STORM_SECONDS", 8));
  const unsigned seed = seed_from_environment();
  std::cout << duration.count() << " s\n" << std::flush;
  gather(seed);
  for (StormPerson* each : everybody_) each->start();
  blow(duration, seed);
  storm_.is_over = true;
  for (StormPerson* each : everybody_) each->join();
  line_.reconnect();

  std::map<std::string, std::vector<Commit>> logs;
  PostgresAdapter ledger(cluster_, line_.database());
  std::size_t heads = 0;
  for (const std::string& space : storm_.spaces) {
    line_.settled_head(space);
    logs[space] = page(ledger, space).commits;
    heads += logs[space].size();
    check(space, logs[space]);
  }
  for (const auto& reader : readers_) {
    const auto& log = logs[reader->space()];
    ASSERT_LE(reader->commits().size(), log.size());
    for (std::size_t i = 0; i < reader->commits().size(); ++i) {
      ASSERT_EQ(reader->commits()[i].position, log[i].position) << "a reader saw another history";
      ASSERT_EQ(changes_of(reader->commits()[i]), changes_of(log[i]));
    }
  }
  const std::size_t made = send_again();
  std::size_t heads_then = 0;
  for (const std::string& space : storm_.spaces) heads_then += static_cast<std::size_t>(line_.settled_head(space));
  EXPECT_EQ(heads_then, heads + made) << "what had been processed consumed nothing";
  EXPECT_LE(made, clients_.size());
  EXPECT_THAT(storm_.complaints(), ::testing::IsEmpty());

  std::cout << heads << " commits, " << storm_.acknowledged << " mutations acknowledged and " << storm_.by_http
            << " by HTTP, " << postgres_kills_ << " kills of PostgreSQL and " << gateway_kills_ << " of the gateway\n";
  // A storm in which nothing happened proves nothing.
  EXPECT_GE(storm_.acknowledged, 50);
  EXPECT_GE(storm_.by_http, 20);
  for (const auto& reader : readers_) EXPECT_GT(reader->commits().size(), 0U);
}

}  // namespace
}  // namespace viewgate::testing
