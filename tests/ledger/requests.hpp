// Requests of mutations in short, and the rules of a test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ledger/mutation.hpp"

namespace viewgate::testing {

/// Rules of a test: everything is allowed but what `verdict` forbids.
class OpenRules : public ledger::WriteRules {
 public:
  [[nodiscard]] const ledger::ConflictGroups& groups_of(std::string_view) const override { return groups; }
  [[nodiscard]] std::optional<ledger::Rejection> judge(const ledger::Proposal& proposal) const override {
    return verdict ? verdict(proposal) : std::nullopt;
  }

  ledger::ConflictGroups groups;
  std::function<std::optional<ledger::Rejection>(const ledger::Proposal&)> verdict;
};

inline ledger::Mutation mutation(ledger::MutationKind kind, std::string key, std::string value,
                                 std::vector<ledger::Base> bases = {}) {
  ledger::Mutation out;
  out.kind = kind;
  out.collection = "issues";
  out.key = std::move(key);
  out.value = std::move(value);
  out.bases = std::move(bases);
  return out;
}

inline ledger::Mutation put(std::string key, std::string value) {
  return mutation(ledger::MutationKind::put, std::move(key), std::move(value));
}
inline ledger::Mutation create(std::string key, std::string value) {
  return mutation(ledger::MutationKind::create, std::move(key), std::move(value));
}
inline ledger::Mutation update(std::string key, std::string value, std::vector<ledger::Base> bases = {}) {
  return mutation(ledger::MutationKind::update, std::move(key), std::move(value), std::move(bases));
}
inline ledger::Mutation remove(std::string key) { return mutation(ledger::MutationKind::remove, std::move(key), ""); }

/// A request of the principal "ann". Its body spells out all of it.
inline ledger::MutationRequest request(std::int64_t number, std::vector<ledger::Mutation> mutations,
                                       std::string client = "c1", std::string space = "s1") {
  ledger::MutationRequest out;
  out.space = std::move(space);
  out.client = std::move(client);
  out.principal = "ann";
  out.number = number;
  out.mutations = std::move(mutations);
  for (const ledger::Mutation& each : out.mutations) {
    out.body.append(name(each.kind)).append(each.collection).append(each.key).append(each.value);
    for (const ledger::Base& base : each.bases) out.body += base.group + std::to_string(base.version.value);
  }
  return out;
}

}  // namespace viewgate::testing
