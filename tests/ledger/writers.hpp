// Writers of captured tables and appenders, each a thread with a connection of its own, in all isolation levels, some rolled
// back in part or whole. Counts what was committed, and what the raw log then says.
#pragma once

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/pg_session.hpp"

namespace viewgate::testing {

inline constexpr const char* kCreateItems =
    "create table public.items (id int primary key, space text, balance int not null, note text);"
    "insert into public.items select i, 's' || i % 3, i, 'x' from generate_series(1, 60) i;"
    "select viewgate.capture('public.items', 'space')";

inline void pause_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

/// The log as the database has it: space, sequence, ordinal, kind, key, before, after per line.
inline std::string raw_log(PgSession& session, const std::string& space) {
  return session.value(
      "select coalesce(string_agg(concat_ws('|', sequence, ordinal, kind, collection, key, coalesce(before, '-'), "
      "coalesce(after, '-')), E'\\n'), '') from viewgate.read_log(array[$1], array[0::bigint], 1000000) where ordinal "
      ">= 0",
      {space});
}

/// Every waiting transaction gets its number.
inline void number_all(PgSession& session) {
  while (session.value("select bool_or(skipped) from viewgate.look() where space is null") == "t") pause_a_little();
}

class Writers {
 public:
  Writers(const std::string& conninfo, int count, unsigned seed) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, conninfo, i, seed] { run(conninfo, i, seed + static_cast<unsigned>(i)); });
    }
  }
  ~Writers() { stop(); }

  void stop() {
    stopped_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  [[nodiscard]] int committed() const { return committed_; }

 private:
  void run(const std::string& conninfo, int index, unsigned seed) {
    std::mt19937 random(seed);
    std::optional<PgSession> session;
    while (!stopped_) {
      try {
        if (!session) session.emplace(conninfo);
        write(*session, index, random);
      } catch (const PgError&) {
        session.reset();  // a serialization failure, or the server is being restarted
        pause_a_little();
      } catch (const std::runtime_error&) {
        session.reset();
        pause_a_little();
      }
    }
  }

  void write(PgSession& session, int index, std::mt19937& random) {
    static constexpr const char* levels[] = {"read committed", "repeatable read", "serializable"};
    const auto pick = [&random](int below) { return std::to_string(random() % static_cast<unsigned>(below)); };
    const std::string id = std::to_string(1 + random() % 60);
    std::string sql = std::string("begin isolation level ") + levels[index % 3] + "; ";
    switch (random() % 6) {
      case 0:
        sql += "update public.items set space = 's' || " + pick(3) + " where id = " + id;
        break;
      case 1:
        sql += "savepoint a; update public.items set balance = balance + 1 where id = " + id +
               "; rollback to a; update public.items set balance = balance - 1 where id = " + id;
        break;
      case 2:
        sql += "delete from public.items where id = " + id + "; insert into public.items values (" + id + ", 's' || " +
               pick(3) + ", 0, 'again')";
        break;
      case 3:
        sql += "select viewgate.append('s" + pick(3) + R"(', '[{"collection": "notes", "key": [)" + pick(9) +
               R"(], "put": {"n": )" + pick(1000) + "}}]')";
        break;
      default:
        sql += "update public.items set balance = balance + " + pick(9) + " where id % 7 = " + pick(7);
        break;
    }
    const bool gives_up = random() % 10 == 0;
    session.run(sql + (gives_up ? "; rollback" : "; commit"));
    if (!gives_up) ++committed_;
  }

  std::atomic<bool> stopped_ = false;
  std::atomic<int> committed_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace viewgate::testing
