#include "loadtest/pgbench_views.hpp"

namespace viewgate::loadtest {

Wanted wanted_of(const Watched& watched, const std::string& id) {
  Wanted out{id, watched.space, watched.view};
  if (watched.view == "watch") {
    out.params = R"({"low":)" + std::to_string(watched.low) + R"(,"high":)" + std::to_string(watched.high) + "}";
  }
  return out;
}

Question question_of(const Watched& watched) {
  // Managed records are JSON already; a lead sees all of them.
  if (watched.view == "board") {
    std::string columns;
    for (const std::string name : {"id", "list", "title", "note", "assignee", "priority", "due", "place"})
      columns.append(columns.empty() ? "'" : ", '").append(name).append("', value->'").append(name).append("'");
    return {"select key, jsonb_build_object(" + columns +
                ")::text from viewgate.records where space = viewgate.space_key($1) and collection = 'cards'",
            {watched.space}};
  }
  const auto select = [](const std::string& columns, const std::string& where) {
    return "select jsonb_build_array(aid)::text, to_jsonb(t)::text from (select " + columns +
           " from public.pgbench_accounts where bid = $1::int and " + where + ") t";
  };
  if (watched.view == "overdrawn") return {select("aid, bid, abalance", "abalance < 0"), {watched.space}};
  return {select("aid, abalance", "abalance between $2::int and $3::int and aid % 10 = $4::int"),
          {watched.space, std::to_string(watched.low), std::to_string(watched.high), std::to_string(watched.digit)}};
}

std::string token_of(const TokenMaker& maker, const std::string& subject, int digit) {
  return maker.make(subject, R"("digit":")" + std::to_string(digit) + '"');
}

Crowd pgbench_crowd(std::size_t count, const TokenMaker& maker) {
  // Its set comes at a pace that can be waited for; then it reads a fraction of what its view has to say.
  constexpr std::size_t slow_bootstrap_bytes_per_second = 400'000, slow_bytes_per_second = 4000;
  Crowd out;
  for (std::size_t i = 0; i < count; ++i) {
    const int digit = static_cast<int>(i * 7 % 10);
    const std::string space = std::to_string(i % pgbench_spaces + 1);
    std::vector<Watched> watched;
    const int low = -static_cast<int>(i % 4) * 1000;
    const Watched overdrawn{space, "overdrawn", 0, 0, digit}, watch{space, "watch", low, low + 2500, digit};
    // Blocks of ten clients cover the spaces once: both views, each alone, both again.
    if (i / pgbench_spaces % 2 == 0 || i % 2 == 0) watched.push_back(overdrawn);
    if (i / pgbench_spaces % 2 == 0 || i % 2 == 1) watched.push_back(watch);
    SwarmMember member{"client-" + std::to_string(i), token_of(maker, "user-" + std::to_string(i), digit), {}};
    for (std::size_t k = 0; k < watched.size(); ++k)
      member.wanted.push_back(wanted_of(watched[k], "s" + std::to_string(k)));
    if (i == 0) {
      member.bytes_per_second = slow_bytes_per_second;
      member.bootstrap_bytes_per_second = slow_bootstrap_bytes_per_second;
    }
    out.members.push_back(std::move(member));
    out.watched.push_back(std::move(watched));
  }
  return out;
}

std::vector<std::string> check_crowd(const Swarm& swarm, const Crowd& crowd, Checker& checker) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < crowd.watched.size(); ++i) {
    for (std::size_t k = 0; k < crowd.watched[i].size(); ++k) {
      for (std::string& what : checker.check(swarm.clients()[i]->fold_of(k), question_of(crowd.watched[i][k])))
        out.push_back(std::move(what));
    }
  }
  return out;
}

std::vector<std::string> pgbench_space_names() {
  std::vector<std::string> out;
  for (int space = 1; space <= pgbench_spaces; ++space) out.push_back(std::to_string(space));
  return out;
}

}  // namespace viewgate::loadtest
