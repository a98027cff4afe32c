#include "system/item_crowd.hpp"

#include <random>

#include "loadtest/token.hpp"

namespace viewgate::testing {

namespace {

constexpr int writers = 3;
constexpr int ids_per_writer = 400;

struct Watched {
  loadtest::Wanted wanted;
  loadtest::Question question;
};

loadtest::Question question(const std::string& space, const std::string& columns, const std::string& where) {
  return {"select jsonb_build_array(id)::text, to_jsonb(t)::text from (select " + columns +
              " from public.items where space = $1 and " + where + ") t",
          {space}};
}

Watched open_of(const std::string& space) {
  return {{"open", space, "open"}, question(space, "id, owner, status, n", "status = 'open'")};
}

Watched between_of(const std::string& space, std::size_t i) {
  const std::string low = std::to_string(i % 4 * 100), high = std::to_string(i % 4 * 100 + 300);
  return {{"between", space, "between_n", R"({"low":)" + low + R"(,"high":)" + high + "}"},
          question(space, "id, n", "n between " + low + " and " + high)};
}

}  // namespace

ItemCrowd::ItemCrowd(std::size_t count, std::vector<std::string> all) : spaces(std::move(all)) {
  loadtest::TokenMaker tokens;
  tokens.secret = file_text(key_file());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& space = spaces[i % spaces.size()];
    std::vector<Watched> watched;
    if (i % 3 != 1) watched.push_back(open_of(space));
    if (i % 3 != 0) watched.push_back(between_of(space, i / 3));
    const std::string name = "client-" + std::to_string(i);
    loadtest::SwarmMember& member = members.emplace_back();
    member.name = name;
    member.token = tokens.make(name, R"("role":"reader")");
    auto& asked = questions.emplace_back();
    for (Watched& each : watched) {
      member.wanted.push_back(std::move(each.wanted));
      asked.push_back(std::move(each.question));
    }
  }
}

std::size_t ItemCrowd::subscriptions() const {
  std::size_t out = 0;
  for (const auto& each : members) out += each.wanted.size();
  return out;
}

std::string judge(const loadtest::Swarm& swarm, const ItemCrowd& crowd, const std::string& database) {
  std::string out;
  for (const std::string& each : swarm.violations().kept()) out += "violation: " + each + "\n";
  loadtest::Database connection(database);
  loadtest::Checker checker(connection);
  for (std::size_t i = 0; i < crowd.questions.size(); ++i) {
    for (std::size_t k = 0; k < crowd.questions[i].size(); ++k) {
      for (const std::string& each : checker.check(swarm.clients()[i]->fold_of(k), crowd.questions[i][k]))
        out += "unequal: " + each + "\n";
    }
  }
  return out;
}

ItemWriters::ItemWriters(const std::string& database, std::vector<std::string> spaces, std::chrono::milliseconds pause)
    : spaces_(std::move(spaces)), pause_(pause) {
  for (int writer = 0; writer < writers; ++writer)
    threads_.emplace_back([this, database, writer] { run(database, writer); });
}

void ItemWriters::stop() {
  stopping_ = true;
  threads_.clear();
}

void ItemWriters::run(const std::string& database, int writer) {
  PgSession session(database);
  std::minstd_rand random(static_cast<unsigned>(writer) + 1);
  while (!stopping_) {
    // Ids of its own, so that no writer waits for another's row.
    const std::string id = std::to_string(writer * ids_per_writer + static_cast<int>(random() % ids_per_writer));
    const std::string& space = spaces_[random() % spaces_.size()];
    const std::string n = std::to_string(random() % 800);
    switch (random() % 6) {
      case 0:
        session.query("delete from items where id = $1", {id});
        break;
      case 1:  // one transaction of many records
        session.query("update items set n = $2 where id between $1::int8 and $1::int8 + 20", {id, n});
        break;
      case 2:
        session.query("update items set status = case status when 'open' then 'closed' else 'open' end where id = $1",
                      {id});
        break;
      default:  // also from one space to another
        session.query(
            "insert into items (id, space, owner, status, n) values ($1, $2, 'w', 'open', $3) "
            "on conflict (id) do update set space = excluded.space, n = excluded.n",
            {id, space, n});
    }
    ++written_;
    std::this_thread::sleep_for(pause_);
  }
}

std::map<std::string, std::int64_t> heads_of(const ItemCrowd& crowd, const std::string& database) {
  loadtest::Database connection(database);
  return loadtest::settled_heads(connection, crowd.spaces);
}

}  // namespace viewgate::testing
