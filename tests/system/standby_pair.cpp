#include "system/standby_pair.hpp"

#include <iostream>

namespace viewgate::testing {
namespace {

void must(const Finished& finished) {
  if (finished.status != 0) throw std::runtime_error(finished.output);
}

void must_come(bool has_come, const std::string& what) {
  if (!has_come) throw std::runtime_error(what + " did not come about");
}

constexpr std::chrono::seconds long_time{60};

}  // namespace

void tell(const std::string& step, const std::string& command) {
  std::cout << "-- " << step << "\n";
  if (!command.empty()) std::cout << "     " << command << "\n";
  std::cout << std::flush;
}

StandbyPair::StandbyPair() : database_(primary_.create_empty_database()) {
  name_ = PgSession(database_).value("select current_database()");
  tell("a primary runs");
  start_standby();
}

void StandbyPair::start_standby() {
  const auto folder = directory_.path() / "standby";
  const std::string data = (folder / "data").string();
  std::filesystem::create_directories(folder);
  tell("a standby is made of it, and streams",
       "pg_basebackup --pgdata DATA --wal-method stream --checkpoint fast --write-recovery-conf --create-slot --slot "
       "standby "
       "--host PRIMARY; pg_ctl start --pgdata DATA");
  must(run({(primary_.server().programs() / "pg_basebackup").string(), "--no-sync", "--pgdata", data, "--wal-method",
            "stream", "--checkpoint", "fast", "--write-recovery-conf", "--create-slot", "--slot", "standby", "--host",
            primary_.server().socket_directory().string(), "--username", "postgres"},
           long_time));
  PgSession session(database_);
  must(run({"/usr/bin/chown", "-R", "--reference=" + session.value("show data_directory"), folder.string()}));
  ledger::EmbeddedOptions options;
  options.directory = folder;
  options.durability = ledger::Durability::volatile_;
  options.settings = {"shared_buffers=64MB", "max_connections=120"};
  auto started = ledger::Embedded::start(std::move(options));
  if (!started) throw std::runtime_error(started.error().detail);
  standby_ = std::move(*started);
  must_come(
      eventually(
          [&] { return session.value("select count(*) from pg_stat_replication where state = 'streaming'") == "1"; },
          long_time),
      "a standby that streams");
}

std::string StandbyPair::either_database() {
  return "host='" + primary_.server().socket_directory().string() + "," + standby_->socket_directory().string() +
         "' port=5432 user=postgres dbname=" + name_ + " target_session_attrs=read-write";
}

void StandbyPair::be_synchronous() {
  tell("replication is synchronous", "alter system set synchronous_standby_names = '*'; select pg_reload_conf()");
  PgSession session(database_);
  session.run("alter system set synchronous_standby_names = '*'");
  session.run("select pg_reload_conf()");
  must_come(
      eventually(
          [&] { return session.value("select count(*) from pg_stat_replication where sync_state = 'sync'") == "1"; },
          long_time),
      "a synchronous standby");
}

void StandbyPair::cut_off() {
  tell("the standby loses its line to the primary", "alter system set primary_conninfo = ''; select pg_reload_conf()");
  PgSession session(standby_database());
  session.run("alter system set primary_conninfo = ''");
  session.run("select pg_reload_conf()");
  must_come(eventually([&] { return session.value("select count(*) from pg_stat_wal_receiver") == "0"; }, long_time),
            "the end of streaming");
}

void StandbyPair::kill_primary() {
  tell("the primary is killed, in the middle of its writes", "kill -9 of its postmaster");
  if (auto stopped = primary_.server().stop(ledger::Shutdown::kill); !stopped)
    throw std::runtime_error(stopped.error().detail);
}

void StandbyPair::promote() {
  tell("the standby is promoted", "select pg_promote()");
  PgSession session(standby_database());
  session.run("select pg_promote()");
  must_come(eventually([&] { return session.value("select pg_is_in_recovery()") == "f"; }, long_time),
            "a promoted standby");
}

}  // namespace viewgate::testing
