#include "ledger/contract/model_ledger.hpp"

#include <algorithm>

#include "ledger/record_text.hpp"

namespace viewgate::testing {
namespace {

using ledger::Change;
using ledger::ChangeKind;
using ledger::Commit;
using ledger::errc;
using ledger::Error;
using ledger::Mutation;
using ledger::MutationAnswer;
using ledger::MutationKind;
using ledger::MutationRequest;
using ledger::Outcome;
using ledger::Rejection;
using ledger::RejectionReason;
using ledger::Sequence;
using Columns = std::map<std::string, std::string>;
using Text = std::optional<std::string>;

Columns columns(const Text& record) {
  Columns out;
  if (!record) return out;
  for (const auto& column : ledger::columns_of(*record)) {
    out.emplace(ledger::unquoted(column.quoted_name), column.value);
  }
  return out;
}

Text after_of(const Mutation& mutation, const Text& before) {
  if (mutation.kind == MutationKind::remove) return std::nullopt;
  if (mutation.kind != MutationKind::update) return mutation.value;
  if (!before) return std::nullopt;
  Columns all = columns(mutation.value);
  all.merge(columns(*before));
  // jsonb's order: shorter names first.
  std::map<std::pair<std::size_t, std::string>, std::string> ordered;
  for (auto& [name, value] : all) ordered.emplace(std::pair(name.size(), name), value);
  std::string out = "{";
  for (const auto& [name, value] : ordered) {
    out += (out.size() > 1 ? ", " : "") + ledger::quoted(name.second) + ": " + value;
  }
  return out + "}";
}

std::set<std::string> differing(const Text& before, const Text& after) {
  const Columns one = columns(before);
  const Columns other = columns(after);
  std::set<std::string> out;
  for (const auto& [name, value] : one) {
    if (!other.contains(name) || other.at(name) != value) out.insert(name);
  }
  for (const auto& [name, value] : other) {
    if (!one.contains(name)) out.insert(name);
  }
  return out;
}

/// In the order of their declaration, `record` last.
std::vector<std::string> moved_groups(const ledger::ConflictGroups& groups, const Text& before, const Text& after) {
  std::set<std::string> left = differing(before, after);
  const bool all = !before || !after;
  std::vector<std::string> out;
  for (const ledger::ConflictGroup& group : groups) {
    std::size_t found = 0;
    for (const std::string& column : group.columns) found += left.erase(column);
    if (all || found > 0) out.push_back(group.name);
  }
  if (all || !left.empty()) out.emplace_back("record");
  return out;
}

std::string versions_text(const std::map<std::string, std::int64_t>& versions) {
  std::string out;
  for (const auto& [group, version] : versions) {
    out += (out.empty() ? "" : ",") + ledger::quoted(group) + ":\"" + std::to_string(version) + "\"";
  }
  return "{" + out + "}";
}

std::string kind_text(const std::vector<Change>& changes, std::size_t before) {
  if (changes.size() == before) return "unchanged";
  switch (changes.back().kind) {
    case ChangeKind::created:
      return "created";
    case ChangeKind::updated:
      return "updated";
    default:
      return "deleted";
  }
}

Error refused(errc code, std::string detail) { return Error{code, "", std::move(detail)}; }

}  // namespace

class ModelLedger::Open final : public Transaction {
 public:
  explicit Open(ModelLedger& ledger) : ledger_(ledger) {}
  void append(const std::string& space, const std::vector<RecordWrite>& writes) override {
    auto& all = writes_[space];
    all.insert(all.end(), writes.begin(), writes.end());
  }
  void commit() override {
    for (const auto& [name, writes] : writes_) {
      Space& space = ledger_.spaces_[name];
      std::vector<Change> changes;
      for (const RecordWrite& write : writes) {
        ModelLedger::write(space.records, space.head.next(), ledger_.declared_[write.collection],
                           {write.collection, write.key}, write.value, changes);
      }
      if (changes.empty()) continue;
      add(space, name, std::move(changes)).provenance.source = "append";
    }
  }

 private:
  ModelLedger& ledger_;
  std::map<std::string, std::vector<RecordWrite>> writes_;
};

std::unique_ptr<LedgerAdapter::Transaction> ModelLedger::begin() { return std::make_unique<Open>(*this); }

void ModelLedger::write(Records& records, Sequence sequence, const ledger::ConflictGroups& groups, const Place& place,
                        const Text& after, std::vector<Change>& changes) {
  const auto held = records.find(place);
  const Text before = held == records.end() ? Text() : Text(held->second.text);
  if (before == after) return;
  Change& change = changes.emplace_back();
  change.ordinal = static_cast<std::int64_t>(changes.size()) - 1;
  change.kind = !before ? ChangeKind::created : after ? ChangeKind::updated : ChangeKind::deleted;
  std::tie(change.collection, change.key) = place;
  change.before = before;
  change.after = after;
  change.groups = moved_groups(groups, before, after);
  if (!after) {
    records.erase(held);
    return;
  }
  Record& record = records[place];
  record.text = *after;
  for (const std::string& group : change.groups) record.versions[group] = sequence.value;
}

Commit& ModelLedger::add(Space& space, const std::string& name, std::vector<Change> changes) {
  space.head = space.head.next();
  Commit& commit = space.commits[space.head];
  commit.space = name;
  commit.position = {space.head, ledger::Stamp{static_cast<std::uint64_t>(space.head.value)}};
  commit.provenance.role = "model";
  commit.provenance.at = "2000-01-01T00:00:00.000000Z";
  commit.changes = std::move(changes);
  return commit;
}

Commit ModelLedger::follow(const Commit& commit) {
  Space& space = spaces_[commit.space];
  std::vector<Change> changes;
  for (const Change& change : commit.changes) {
    write(space.records, space.head.next(), declared_[change.collection], {change.collection, change.key}, change.after,
          changes);
  }
  return add(space, commit.space, std::move(changes));
}

std::map<std::string, std::string> ModelLedger::records(const std::string& space, const std::string& collection) {
  std::map<std::string, std::string> out;
  for (const auto& [place, record] : spaces_[space].records) {
    if (place.first == collection) out.emplace(place.second, record.text);
  }
  return out;
}

std::vector<LedgerAdapter::Answer> ModelLedger::mutate(std::vector<MutationRequest> requests,
                                                       ledger::WriteRulesPtr rules) {
  std::vector<Answer> out;
  for (const MutationRequest& request : requests) out.push_back(process(request, *rules));
  return out;
}

LedgerAdapter::Answer ModelLedger::again(Space& space, const Client& client, const MutationRequest& request) {
  MutationAnswer out;
  const auto commit = space.commits.find(client.commits.at(request.number));
  if (commit == space.commits.end()) {
    out.kind = Kind::receipt_pruned;
  } else if (!request.body.empty() && commit->second.receipt->body != request.body) {
    out.kind = Kind::sequence_conflict;
  } else {
    out.kind = Kind::replay;
    out.receipt.client = request.client;
    out.receipt.number = request.number;
    out.receipt.sequence = commit->first;
    out.receipt.text = commit->second.receipt->text;
  }
  return out;
}

LedgerAdapter::Answer ModelLedger::receipt(const std::string& space, const std::string& client,
                                           const std::string& principal, std::int64_t number) {
  MutationRequest asked;
  asked.client = client;
  asked.number = number;
  const auto known = spaces_[space].clients.find(client);
  MutationAnswer out;
  out.kind = Kind::forbidden;
  if (known != spaces_[space].clients.end() && known->second.principal != principal) return out;
  out.kind = Kind::sequence_gap;
  out.expected = known == spaces_[space].clients.end() ? 1 : known->second.last + 1;
  if (number >= out.expected) return out;
  return again(spaces_[space], known->second, asked);
}

std::optional<Rejection> ModelLedger::fault_of(const Space& space, const ledger::Proposal& proposal,
                                               const ledger::ConflictGroups& groups,
                                               std::map<std::string, std::int64_t>& moved) {
  const Mutation& mutation = proposal.mutation;
  const bool is_needed = mutation.kind == MutationKind::update || mutation.kind == MutationKind::remove;
  if (mutation.collection.find('.') != std::string::npos) {
    return Rejection{RejectionReason::not_writable, "mutations write managed collections only"};
  }
  if (mutation.kind == MutationKind::create && proposal.before) {
    return Rejection{RejectionReason::already_exists, "there is such a record already"};
  }
  if (is_needed && !proposal.before) return Rejection{RejectionReason::not_found, "there is no such record"};
  if (proposal.before == proposal.after) return std::nullopt;
  const std::vector<std::string> touched = moved_groups(groups, Text(proposal.before), Text(proposal.after));
  // Bases are held against the record as the request found it.
  const auto held = space.records.find({mutation.collection, mutation.key});
  const bool was_there = held != space.records.end();
  for (const ledger::Base& base : mutation.bases) {
    if (std::find(touched.begin(), touched.end(), base.group) == touched.end()) continue;
    const bool has_moved = was_there && held->second.versions.contains(base.group);
    const std::int64_t stands = has_moved ? held->second.versions.at(base.group) : 0;
    const bool is_gone = !was_there && base.version.value > 0;
    if (is_gone || base.version > space.head || stands > base.version.value) moved[base.group] = stands;
  }
  if (moved.empty()) return std::nullopt;
  return Rejection{RejectionReason::conflict, "what this changes has been changed since its base"};
}

ModelLedger::Effect ModelLedger::effect_of(const Space& space, const MutationRequest& request,
                                           const ledger::WriteRules& rules) {
  Effect out;
  out.records = space.records;
  for (std::size_t i = 0; i < request.mutations.size(); ++i) {
    const Mutation& mutation = request.mutations[i];
    const Place place(mutation.collection, mutation.key);
    const ledger::ConflictGroups& groups = rules.groups_of(mutation.collection);
    const Text before = out.records.contains(place) ? Text(out.records.at(place).text) : Text();
    const Text after = after_of(mutation, before);
    std::map<std::string, std::int64_t> moved;
    std::optional<Rejection> found;
    found = fault_of(space, ledger::Proposal{request, mutation, mutation.key, before, after, found}, groups, moved);
    if (auto judged = rules.judge(ledger::Proposal{request, mutation, mutation.key, before, after, found})) {
      found = std::move(judged);
      moved.clear();
    }
    if (found) {
      out.outcome = Outcome::rejected;
      out.changes.clear();
      out.text = R"(,"reason":")" + std::string(name(found->reason)) + R"(","detail":)" +
                 ledger::quoted(found->detail) + R"(,"mutation":)" + std::to_string(i) +
                 (moved.empty() ? "" : R"(,"groups":)" + versions_text(moved)) + "}";
      return out;
    }
    const std::size_t count = out.changes.size();
    write(out.records, space.head.next(), groups, place, after, out.changes);
    out.text += (out.text.empty() ? "" : ",") + (R"({"collection":)" + ledger::quoted(mutation.collection)) +
                R"(,"key":)" + mutation.key + R"(,"kind":")" + kind_text(out.changes, count) + R"(","versions":)" +
                (after ? versions_text(out.records.at(place).versions) : "{}") + "}";
  }
  if (!out.changes.empty()) out.outcome = Outcome::applied;
  out.text = R"(,"acknowledgement":[)" + out.text + "]}";
  return out;
}

LedgerAdapter::Answer ModelLedger::process(const MutationRequest& request, const ledger::WriteRules& rules) {
  if (request.number < 1) return refused(errc::invalid_mutation, "the number is below one");
  for (const Mutation& mutation : request.mutations) {
    if (!mutation.key.starts_with('[')) return refused(errc::invalid_mutation, "the key is not an array");
  }
  Space& space = spaces_[request.space];
  const auto known = space.clients.find(request.client);
  MutationAnswer out;
  out.kind = Kind::forbidden;
  if (known != space.clients.end() && known->second.principal != request.principal) return out;
  const std::int64_t last = known == space.clients.end() ? 0 : known->second.last;
  if (request.number <= last) return again(space, known->second, request);
  out.kind = Kind::sequence_gap;
  out.expected = last + 1;
  if (request.number > last + 1) return out;

  const Sequence sequence = space.head.next();
  Effect effect = effect_of(space, request, rules);
  if (effect.outcome != Outcome::rejected) space.records = std::move(effect.records);
  Commit& commit = add(space, request.space, std::move(effect.changes));
  commit.provenance.source = "mutation";
  commit.provenance.principal = request.principal;
  commit.provenance.client = request.client;
  commit.provenance.request_id = request.request_id;
  commit.provenance.fields = request.fields;
  const std::string text = R"({"outcome":")" + std::string(name(effect.outcome)) + R"(","client":)" +
                           ledger::quoted(request.client) + R"(,"number":")" + std::to_string(request.number) +
                           R"(","sequence":")" + std::to_string(sequence.value) + '"' + effect.text;
  commit.receipt = ledger::CommitReceipt{request.number, text, request.body};
  Client& client = space.clients[request.client];
  client.principal = request.principal;
  client.last = request.number;
  client.commits[request.number] = sequence;
  out.kind = Kind::receipt;
  out.expected = 0;
  out.receipt = ledger::Receipt{request.client, request.number, sequence, effect.outcome, text};
  return out;
}

ledger::Result<ledger::PullPage> ModelLedger::pull(const std::string& name, Sequence after, std::int64_t limit) {
  const Space& space = spaces_[name];
  if (limit < 1) return refused(errc::invalid_limit, "below one");
  if (after.value < 0 || after > space.head) return refused(errc::invalid_cursor, "negative, or beyond the head");
  if (after < space.horizon) return refused(errc::history_unavailable, "below the horizon");
  ledger::PullPage page;
  page.next_cursor = after;
  std::int64_t left = limit;
  for (auto next = space.commits.upper_bound(after); next != space.commits.end(); ++next) {
    const std::int64_t weight = std::max<std::int64_t>(1, static_cast<std::int64_t>(next->second.changes.size()));
    if (!page.commits.empty() && weight > left) break;
    left -= weight;
    page.commits.push_back(next->second);
    page.next_cursor = next->first;
  }
  page.has_more = page.next_cursor < space.head;
  return page;
}

void ModelLedger::prune(const std::string& name, std::int64_t keep) {
  Space& space = spaces_[name];
  space.horizon = std::max(space.horizon, Sequence{space.head.value - keep});
  space.commits.erase(space.commits.begin(), space.commits.upper_bound(space.horizon));
}

}  // namespace viewgate::testing
