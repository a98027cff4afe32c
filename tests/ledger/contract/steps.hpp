// What promises are made of: short ways to write, to read and to compare.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ledger/contract/adapter.hpp"
#include "ledger/loop.hpp"
#include "ledger/requests.hpp"

namespace viewgate::testing {

inline std::string fresh_space() {
  static int spaces = 0;
  return "space-" + std::to_string(++spaces);
}

/// A request of a client of its own choice in this space.
inline ledger::MutationRequest in(const std::string& space, std::int64_t number,
                                  std::vector<ledger::Mutation> mutations, const std::string& client = "c1") {
  return request(number, std::move(mutations), client, space);
}

/// The groups of "issues" in the suite: `schedule` holds two columns, all others are `record`.
inline ledger::WriteRulesPtr suite_rules() {
  auto rules = std::make_shared<OpenRules>();
  rules->groups = {{"schedule", {"ends", "starts"}}};
  return rules;
}
inline ledger::DeclaredGroups suite_groups() {
  ledger::DeclaredGroups out;
  out["issues"] = {{"schedule", {"ends", "starts"}}};
  return out;
}

inline ledger::MutationAnswer answer(LedgerAdapter& ledger, ledger::MutationRequest one) {
  std::vector<ledger::MutationRequest> requests;
  requests.push_back(std::move(one));
  return value_of(std::move(ledger.mutate(std::move(requests), suite_rules()).front()));
}

/// As many records of their own as it takes: one commit of so many changes.
inline void append(LedgerAdapter& ledger, const std::string& space, int changes = 1) {
  static int records = 0;
  std::vector<RecordWrite> writes;
  for (int i = 0; i < changes; ++i) {
    ++records;
    writes.push_back({"c", "[" + std::to_string(records) + "]", "{\"n\": " + std::to_string(records) + "}"});
  }
  const auto transaction = ledger.begin();
  transaction->append(space, writes);
  transaction->commit();
}

inline void append(LedgerAdapter& ledger, const std::string& space, const std::string& key,
                   std::optional<std::string> value) {
  const auto transaction = ledger.begin();
  transaction->append(space, {{"issues", key, std::move(value)}});
  transaction->commit();
}

inline ledger::PullPage page(LedgerAdapter& ledger, const std::string& space, std::int64_t after = 0,
                             std::int64_t limit = 1000000) {
  return value_of(ledger.pull(space, ledger::Sequence{after}, limit));
}

inline std::vector<std::int64_t> sequences(const ledger::PullPage& page) {
  std::vector<std::int64_t> out;
  for (const ledger::Commit& commit : page.commits) out.push_back(commit.position.sequence.value);
  return out;
}

inline void expect_refused(const ledger::Result<ledger::PullPage>& result, ledger::errc code) {
  ASSERT_FALSE(result) << "a page, and not " << ledger::name(code);
  EXPECT_EQ(result.error().code, code) << result.error().detail;
}

/// Everything of a log that two adapters must agree on, as text.
inline std::string told(const ledger::PullPage& page) {
  std::string out;
  for (const ledger::Commit& commit : page.commits) {
    out += std::to_string(commit.position.sequence.value) + " " + commit.provenance.source + " " +
           commit.provenance.client + " " + commit.provenance.principal + "\n";
    if (commit.receipt) {
      out += "  receipt " + std::to_string(commit.receipt->number) + " " + commit.receipt->text + " " +
             commit.receipt->body + "\n";
    }
    for (const ledger::Change& change : commit.changes) {
      out += "  " + std::to_string(change.ordinal) + " " + std::to_string(static_cast<int>(change.kind)) + " " +
             change.collection + change.key + " " + change.before.value_or("-") + " > " + change.after.value_or("-");
      for (const std::string& group : change.groups) out += " " + group;
      out += "\n";
    }
  }
  return out + "cursor " + std::to_string(page.next_cursor.value) + (page.has_more ? " and more" : "");
}

}  // namespace viewgate::testing
