#include "ledger/contract/storm_people.hpp"

#include "ledger/mutator.hpp"
#include "ledger/store.hpp"
#include "ledger/writers.hpp"
#include "support/pg_session.hpp"
#include "support/raw_socket.hpp"

namespace viewgate::testing {

using ledger::MutationAnswer;
using ledger::MutationRequest;
using ledger::Sequence;
using Kind = MutationAnswer::Kind;

namespace {

/// What a storm does to whoever is under way in it; the same is asked for again.
bool passes(ledger::errc code) {
  return code == ledger::errc::unavailable || code == ledger::errc::timeout || code == ledger::errc::retry;
}

}  // namespace

void StormPlace::complain(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  complaints_.push_back(what);
}

std::vector<std::string> StormPlace::complaints() {
  const std::scoped_lock lock(mutex_);
  return complaints_;
}

std::string StormBackEnd::statement() {
  const std::string& space = storm_.spaces[static_cast<std::size_t>(pick(static_cast<int>(storm_.spaces.size())))];
  const std::string key = std::to_string(pick(6));
  switch (pick(6)) {
    case 0:
      return "delete from public.items where id = " + key + " and space = '" + space + "'";
    case 1:
    case 2:
      // Each space has keys of its own, so that no row moves between spaces.
      return "insert into public.items (space, id, a) select '" + space + "', " + key + " + 10 * " + space.back() +
             ", 1 on conflict (id) do update set a = items.a + 1";
    case 3:
      return "select viewgate.append('" + space + R"(', '[{"collection": "issues", "key": [)" + key +
             R"(], "delete": true}]'))";
    default:
      return "select viewgate.append('" + space + R"(', '[{"collection": "issues", "key": [)" + key +
             R"(], "put": {"a": )" + std::to_string(pick(100)) + R"(}}, {"collection": "other", "key": [)" + key +
             R"(], "put": {"b": )" + std::to_string(pick(100)) + "}}]')";
  }
}

void StormBackEnd::run() {
  std::optional<PgSession> session;
  while (!storm_.is_over) {
    try {
      if (!session) session.emplace(storm_.conninfo);
      session->run("begin");
      for (int i = pick(3); i >= 0; --i) session->run(statement());
      session->run(pick(4) == 0 ? "rollback" : "commit");
    } catch (const std::runtime_error&) {
      session.reset();  // killed, or a deadlock
      pause_a_little();
    }
  }
}

MutationRequest StormClient::next() {
  std::vector<ledger::Mutation> mutations;
  for (int i = pick(3); i < 3; ++i) {
    const std::string key = "[" + std::to_string(pick(6)) + "]";
    std::vector<ledger::Base> bases;
    if (pick(4) == 0) bases.push_back({"record", Sequence{pick(500)}});
    static constexpr ledger::MutationKind kinds[] = {ledger::MutationKind::update, ledger::MutationKind::put,
                                                     ledger::MutationKind::put, ledger::MutationKind::remove};
    const ledger::MutationKind kind = kinds[pick(4)];
    const std::string value = kind == ledger::MutationKind::remove ? "" : "{\"a\": " + std::to_string(pick(100)) + "}";
    mutations.push_back(mutation(kind, key, value, std::move(bases)));
  }
  return in(space_, static_cast<std::int64_t>(sent_.size()) + 1, std::move(mutations), name_);
}

void StormClient::run() {
  Loop loop;
  ledger::MutatorOptions options;
  options.time_max = std::chrono::seconds(5);
  ledger::Mutator node(loop.io(), storm_.conninfo, options, nullptr);
  const ledger::WriteRulesPtr rules = std::make_shared<OpenRules>();
  while (!storm_.is_over) {
    const bool is_replay = pick(4) == 0 && !told_.empty();
    const auto which = is_replay ? static_cast<std::size_t>(pick(static_cast<int>(told_.size()))) : told_.size();
    if (which == sent_.size()) sent_.push_back(next());
    std::optional<LedgerAdapter::Answer> answer;
    node.mutate(sent_[which], rules, [&answer](LedgerAdapter::Answer given) { answer = std::move(given); });
    if (!loop.until([&answer] { return answer.has_value(); }, std::chrono::seconds(60))) {
      return storm_.complain(name_ + " was not answered");
    }
    if (!*answer) {
      const ledger::Error& error = answer->error();
      if (!passes(error.code)) return storm_.complain(name_ + ": " + error.sqlstate + " " + error.detail);
      pause_a_little();
      continue;
    }
    const MutationAnswer& given = **answer;
    const bool is_processed = given.kind == Kind::receipt || given.kind == Kind::replay;
    if (!is_processed || (is_replay && given.receipt.text != told_[which])) {
      storm_.complain(name_ + " sent " + std::to_string(which + 1) + " and was answered " +
                      std::to_string(static_cast<int>(given.kind)) + " " + given.receipt.text);
    }
    if (!is_processed) return;
    if (is_replay) continue;
    told_.push_back(given.receipt.text);
    ++storm_.acknowledged;
  }
}

std::string StormWebClient::post(const std::string& body) {
  try {
    RawSocket socket(storm_.port);
    socket.send("POST /v1/spaces/" + space_ + "/mutations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                storm_.token + "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    const std::string head = socket.read_until("\r\n\r\n");
    if (!head.ends_with("\r\n\r\n")) return "";
    std::string answer = socket.read_until("\n");
    if (!answer.ends_with('\n')) return "";
    if (head.starts_with("HTTP/1.1 503 ")) return "";
    if (!head.starts_with("HTTP/1.1 200 ")) storm_.complain(name_ + " was answered " + head + answer);
    return answer;
  } catch (const std::runtime_error&) {
    return "";  // nobody listens
  }
}

void StormWebClient::run() {
  while (!storm_.is_over) {
    const bool is_replay = pick(4) == 0 && !told_.empty();
    const auto which = is_replay ? static_cast<std::size_t>(pick(static_cast<int>(told_.size()))) : told_.size();
    if (which == sent_.size()) {
      sent_.push_back(R"({"client":")" + name_ + R"(","number":")" + std::to_string(which + 1) +
                      R"(","mutations":[{"kind":"put","collection":"labels","key":["k)" + std::to_string(pick(4)) +
                      R"("],"record":{"colour":")" + std::to_string(pick(5)) + "\"}}]}");
    }
    const std::string answer = post(sent_[which]);
    if (answer.empty()) {
      pause_a_little();
      continue;
    }
    if (is_replay && answer != told_[which]) {
      storm_.complain(name_ + " sent " + std::to_string(which + 1) + " again and was answered " + answer);
    }
    if (is_replay) continue;
    told_.push_back(answer);
    ++storm_.by_http;
  }
}

void StormReader::run() {
  Loop loop;
  ledger::pg::ConnectOptions connect;
  connect.conninfo = storm_.conninfo;
  ledger::pg::Pool pool(loop.io().get_executor(), connect, 1);
  ledger::Store store(pool, {});
  while (!storm_.is_over) {
    const Sequence cursor = commits_.empty() ? Sequence{0} : commits_.back().position.sequence;
    auto page = loop.await(store.pull(space_, cursor, 1 + pick(40)));
    if (!page) {
      const ledger::Error& error = page.error();
      if (!passes(error.code)) {
        return storm_.complain("a reader of " + space_ + ": " + error.sqlstate + " " + error.detail);
      }
      pause_a_little();
      continue;
    }
    for (ledger::Commit& commit : page->commits) commits_.push_back(std::move(commit));
    if (page->commits.empty()) pause_a_little();
  }
}

}  // namespace viewgate::testing
