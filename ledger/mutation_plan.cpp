#include "ledger/mutation_plan.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "ledger/mutation_form.hpp"
#include "ledger/planted.hpp"
#include "ledger/receipt_text.hpp"
#include "ledger/record_text.hpp"

namespace viewgate::ledger {
namespace {

/// Which record.
struct Place {
  std::size_t space = 0;
  std::string collection;
  std::string key;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// A record as it stands at some point of the batch.
struct Held {
  std::optional<std::string> text;
  GroupVersions versions;
  bool existed = false;  ///< before the batch
};

std::int64_t version_of(const GroupVersions& versions, std::string_view group) {
  const auto found = versions.find(group);
  if (found != versions.end()) return found->second;
  // A group that was declared after the record's last change: it moved at the latest then.
  std::int64_t latest = 0;
  for (const auto& [name, version] : versions) latest = std::max(latest, version);
  return latest;
}

Rejection rejection(RejectionReason reason, std::string detail) { return Rejection{reason, std::move(detail)}; }

bool is_writable(std::string_view collection) { return collection.find('.') == std::string_view::npos; }

/// One request on its way: what it would do, apart from the batch until it is clear that all of it is done.
class Attempt {
 public:
  Attempt(const MutationToPlan& asked, Sequence sequence, const MutationBounds& bounds,
          const std::map<Place, Held>& standings)
      : request_(*asked.request),
        rules_(*asked.rules),
        space_(asked.space),
        sequence_(sequence),
        bounds_(bounds),
        held_(standings) {}

  /// Goes on with the next mutation; false: the request is rejected.
  bool take(const Mutation& mutation, const std::string& key, const std::optional<std::string>& value) {
    const Place place{space_, mutation.collection, key};
    Held& now = touch(place);
    const std::optional<std::string> before = now.text;
    const std::optional<std::string> after = proposed(mutation, before, value);
    const std::vector<std::string> groups =
        before == after ? std::vector<std::string>() : changed_groups(groups_of(mutation), before, after);
    Refused refused;
    refused.mutation = acknowledgements_.size();
    std::optional<Rejection> found = fault(mutation, before.has_value());
    if (!found) found = conflict(mutation, held_.at(place), groups, refused.moved);
    const Proposal proposal{request_, mutation, key, before, after, found};
    if (std::optional<Rejection> judged = rules_.judge(proposal)) {
      found = std::move(judged);
      refused.moved.clear();
    }
    if (!found) found = excess(before, after);
    if (found) {
      refused.rejection = std::move(*found);
      refused_ = std::move(refused);
      return false;
    }
    apply(now, place, after, groups);
    return true;
  }

  /// The request is rejected, since what it would change has not even been read.
  void refuse_unread() { refused_ = Refused{effect_rejection(), 0, {}}; }

  [[nodiscard]] std::size_t effect_bytes() const { return effect_bytes_; }
  [[nodiscard]] const std::optional<Refused>& refused() const { return refused_; }
  [[nodiscard]] std::vector<Change>& changes() { return changes_; }
  [[nodiscard]] const std::vector<Acknowledgement>& acknowledgements() const { return acknowledgements_; }
  [[nodiscard]] std::map<Place, Held>& touched() { return touched_; }

 private:
  Held& touch(const Place& place) { return touched_.try_emplace(place, held_.at(place)).first->second; }

  const ConflictGroups& groups_of(const Mutation& mutation) const { return rules_.groups_of(mutation.collection); }

  static std::optional<std::string> proposed(const Mutation& mutation, const std::optional<std::string>& before,
                                             const std::optional<std::string>& value) {
    switch (mutation.kind) {
      case MutationKind::create:
      case MutationKind::put:
        return value;
      case MutationKind::update:
        if (before && value) return merged(*before, *value);
        return std::nullopt;
      case MutationKind::remove:
        break;
    }
    return std::nullopt;
  }

  static std::optional<Rejection> fault(const Mutation& mutation, bool exists) {
    if (!is_writable(mutation.collection)) {
      return rejection(RejectionReason::not_writable, "mutations write managed collections only");
    }
    if (mutation.kind == MutationKind::create && exists) {
      return rejection(RejectionReason::already_exists, "there is such a record already");
    }
    if ((mutation.kind == MutationKind::update || mutation.kind == MutationKind::remove) && !exists) {
      return rejection(RejectionReason::not_found, "there is no such record");
    }
    return std::nullopt;
  }

  /// Updates make records larger than what the door lets in, and many of them more than one commit should hold.
  std::optional<Rejection> excess(const std::optional<std::string>& before, const std::optional<std::string>& after) {
    if (before == after) return std::nullopt;
    if (after && after->size() > bounds_.record_bytes_max) {
      return rejection(RejectionReason::constraint,
                       "the record would have more than " + std::to_string(bounds_.record_bytes_max) + " bytes");
    }
    effect_bytes_ += (before ? before->size() : 0) + (after ? after->size() : 0);
    if (effect_bytes_ > bounds_.effect_bytes_max) return effect_rejection();
    return std::nullopt;
  }

  [[nodiscard]] Rejection effect_rejection() const {
    return rejection(RejectionReason::constraint,
                     "the records that the request changes have, before and after it, more than " +
                         std::to_string(bounds_.effect_bytes_max) + " bytes");
  }

  /// Bases are held against the record as the request found it: a batch does not conflict with itself.
  std::optional<Rejection> conflict(const Mutation& mutation, const Held& start, const std::vector<std::string>& groups,
                                    GroupVersions& moved) const {
    const ConflictGroups& declared = groups_of(mutation);
    for (const Base& base : mutation.bases) {
      const bool is_declared =
          base.group == kRecordGroup ||
          std::ranges::any_of(declared, [&](const ConflictGroup& each) { return each.name == base.group; });
      if (!is_declared) {
        return rejection(RejectionReason::invalid_value, "there is no conflict group " + quoted(base.group));
      }
      if (std::ranges::find(groups, base.group) == groups.end()) continue;
      const std::int64_t version = start.text ? version_of(start.versions, base.group) : 0;
      const bool is_gone = !start.text && base.version.value > 0;
      const bool is_unheard_of = base.version >= sequence_;
      if (is_gone || is_unheard_of || version > base.version.value) moved.emplace(base.group, version);
    }
    if (moved.empty() || is_planted("ignore_groups")) return std::nullopt;
    return rejection(RejectionReason::conflict, "what this changes has been changed since its base");
  }

  void apply(Held& now, const Place& place, const std::optional<std::string>& after,
             const std::vector<std::string>& groups) {
    Acknowledgement acknowledgement{place.collection, place.key, std::nullopt, {}};
    if (now.text != after || is_planted("tell_no_op")) {
      Change change;
      change.kind = !now.text ? ChangeKind::created : after ? ChangeKind::updated : ChangeKind::deleted;
      change.collection = place.collection;
      change.key = place.key;
      change.before = is_planted("stale_before") ? held_.at(place).text : now.text;
      change.after = after;
      change.groups = groups;
      acknowledgement.kind = change.kind;
      changes_.push_back(std::move(change));
      if (!after && !is_planted("keep_versions")) now.versions.clear();
      for (const std::string& group : groups) {
        if (after) now.versions[group] = sequence_.value;
      }
      now.text = after;
    }
    acknowledgement.versions = now.versions;
    acknowledgements_.push_back(std::move(acknowledgement));
  }

  const MutationRequest& request_;
  const WriteRules& rules_;
  const std::size_t space_;
  const Sequence sequence_;
  const MutationBounds bounds_;
  const std::map<Place, Held>& held_;
  std::map<Place, Held> touched_;
  std::size_t effect_bytes_ = 0;
  std::vector<Change> changes_;
  std::vector<Acknowledgement> acknowledgements_;
  std::optional<Refused> refused_;
};

/// The batch on its way.
class Planner {
 public:
  Planner(const MutationState& state, const MutationBounds& bounds)
      : state_(state), bounds_(bounds), heads_(state.heads), clients_(state.clients) {}

  /// False: the request and all after it are for another batch. The first one of a batch is always taken.
  bool may_take(const MutationToPlan& asked) const {
    return plan_.answers.empty() || (effect_bytes_ < bounds_.effect_bytes_max && !is_withheld(asked));
  }

  void take(const MutationToPlan& asked) {
    const MutationRequest& request = *asked.request;
    const auto values = values_of(request);  // taken from the state also where the request is not processed
    const std::size_t first_record = next_record_;
    next_record_ += request.mutations.size();
    const std::optional<MutationState::Processed>& processed = state_.processed[next_request_++];
    const auto client = clients_.find({asked.space, request.client});
    if (client != clients_.end() && client->second.principal != request.principal && !is_planted("ignore_principal")) {
      return answer(MutationAnswer::Kind::forbidden);
    }
    const std::int64_t last = client == clients_.end() ? 0 : client->second.last;
    if (request.number <= last && !is_planted("process_again")) return answer_again(asked, processed);
    if (request.number > last + 1 && !is_planted("accept_gap")) return answer_gap(last + 1);
    const std::string fault = values_fault(request, first_record, values);
    if (!fault.empty() && !is_planted("process_malformed")) {
      plan_.answers.emplace_back(Error{errc::invalid_mutation, "", fault});
      return;
    }
    process(asked, first_record, values);
    clients_[{asked.space, request.client}] = MutationState::Client{request.principal, request.number};
  }

  MutationPlan finish() {
    for (auto& [place, held] : held_) {
      if (!dirty_.contains(place) || (!held.existed && !held.text)) continue;
      plan_.records.push_back(
          PlannedRecord{place.space, place.collection, place.key, held.text, held.versions, held.existed});
    }
    return std::move(plan_);
  }

 private:
  struct Values {
    std::vector<std::optional<std::string>> of_mutations;  ///< none for a delete
    std::optional<std::string> fields;
  };

  Values values_of(const MutationRequest& request) {
    Values out;
    for (const Mutation& mutation : request.mutations) {
      out.of_mutations.push_back(has_value(mutation) ? state_.jsons[next_json_++] : std::nullopt);
    }
    if (!request.fields.empty()) out.fields = state_.jsons[next_json_++];
    return out;
  }

  /// What jsonb did not take, or took for something else than is wanted.
  std::string values_fault(const MutationRequest& request, std::size_t first_record, const Values& values) const {
    for (std::size_t i = 0; i < request.mutations.size(); ++i) {
      const std::string which = "mutation " + std::to_string(i) + ": ";
      const std::optional<std::string>& key = state_.records[first_record + i].key;
      const std::string fault = key ? key_fault(*key) : "the key is not JSON that PostgreSQL can hold";
      if (!fault.empty()) return which + fault;
      const std::optional<std::string>& value = values.of_mutations[i];
      const bool is_missing = has_value(request.mutations[i]) && !(value && is_object(*value));
      if (is_missing) return which + "the value is not a JSON object that PostgreSQL can hold";
    }
    const bool has_bad_fields = !request.fields.empty() && !(values.fields && is_object(*values.fields));
    return has_bad_fields ? "fields is not a JSON object that PostgreSQL can hold" : "";
  }

  void answer(MutationAnswer::Kind kind) {
    MutationAnswer out;
    out.kind = kind;
    plan_.answers.emplace_back(std::move(out));
  }

  void answer_gap(std::int64_t expected) {
    MutationAnswer out;
    out.kind = MutationAnswer::Kind::sequence_gap;
    out.expected = expected;
    plan_.answers.emplace_back(std::move(out));
  }

  void answer_again(const MutationToPlan& asked, const std::optional<MutationState::Processed>& processed) {
    const MutationRequest& request = *asked.request;
    const auto now = fresh_.find({asked.space, request.client, request.number});
    if (now == fresh_.end() && !processed) return answer(MutationAnswer::Kind::receipt_pruned);
    const bool is_same = now == fresh_.end() ? processed->has_same_body : now->second.body == request.body;
    if (!is_same && !is_planted("ignore_body")) return answer(MutationAnswer::Kind::sequence_conflict);
    MutationAnswer out;
    out.kind = MutationAnswer::Kind::replay;
    if (now == fresh_.end()) {
      out.receipt = Receipt{request.client, request.number, processed->sequence, outcome_of(processed->receipt),
                            processed->receipt};
    } else {
      out.receipt = now->second.receipt;
    }
    plan_.answers.emplace_back(std::move(out));
  }

  void process(const MutationToPlan& asked, std::size_t first_record, const Values& values) {
    const MutationRequest& request = *asked.request;
    const Sequence sequence = heads_[asked.space].next();
    heads_[asked.space] = is_planted("gaps_in_batches") ? sequence.next() : sequence;
    const bool is_unread = has_withheld(first_record, request.mutations.size());
    for (std::size_t i = 0; i < request.mutations.size(); ++i) load(asked, i, first_record + i);
    Attempt attempt(asked, sequence, bounds_, held_);
    if (is_unread) attempt.refuse_unread();
    for (std::size_t i = 0; i < request.mutations.size() && !is_unread; ++i) {
      if (!attempt.take(request.mutations[i], *state_.records[first_record + i].key, values.of_mutations[i])) break;
    }
    Receipt receipt{request.client, request.number, sequence, Outcome::rejected, {}};
    PlannedCommit commit;
    commit.request = &request;
    commit.space = asked.space;
    commit.sequence = sequence;
    commit.fields = values.fields;
    if (attempt.refused()) {
      receipt.text = rejected_text(request, sequence, *attempt.refused());
      if (is_planted("keep_refused")) keep(asked.space, attempt);
    } else {
      commit.changes = static_cast<std::int64_t>(attempt.changes().size());
      receipt.outcome = commit.changes > 0 ? Outcome::applied : Outcome::no_op;
      receipt.text = applied_text(request, sequence, receipt.outcome, attempt.acknowledgements());
      keep(asked.space, attempt);
      effect_bytes_ += attempt.effect_bytes();
    }
    commit.receipt = receipt.text;
    if (is_planted("receipt_differs")) commit.receipt += " ";
    plan_.commits.push_back(std::move(commit));
    fresh_.emplace(std::tuple(asked.space, request.client, request.number), Fresh{receipt, request.body});
    MutationAnswer out;
    out.receipt = std::move(receipt);
    plan_.answers.emplace_back(std::move(out));
  }

  void load(const MutationToPlan& asked, std::size_t mutation, std::size_t index) {
    const MutationState::Record& record = state_.records[state_.records[index].first];
    held_.try_emplace(Place{asked.space, asked.request->mutations[mutation].collection, *record.key},
                      Held{record.text, record.versions, record.text.has_value()});
  }

  void keep(std::size_t space, Attempt& attempt) {
    const auto of_commit = static_cast<std::int64_t>(plan_.commits.size()) + 1;
    for (Change& change : attempt.changes()) {
      dirty_.insert(Place{space, change.collection, change.key});
      plan_.changes.push_back(PlannedChange{of_commit, std::move(change)});
    }
    for (auto& [place, held] : attempt.touched()) held_[place] = std::move(held);
  }

  [[nodiscard]] bool has_withheld(std::size_t first_record, std::size_t count) const {
    for (std::size_t i = first_record; i < first_record + count; ++i) {
      if (state_.records[state_.records[i].first].is_withheld) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_withheld(const MutationToPlan& next) const {
    return has_withheld(next_record_, next.request->mutations.size());
  }

  struct Fresh {
    Receipt receipt;
    std::string body;
  };

  const MutationState& state_;
  const MutationBounds bounds_;
  std::vector<Sequence> heads_;
  std::map<std::pair<std::size_t, std::string>, MutationState::Client> clients_;
  std::map<Place, Held> held_;
  std::set<Place> dirty_;
  std::map<std::tuple<std::size_t, std::string, std::int64_t>, Fresh> fresh_;
  std::size_t next_request_ = 0;
  std::size_t next_record_ = 0;
  std::size_t next_json_ = 0;
  std::size_t effect_bytes_ = 0;
  MutationPlan plan_;
};

}  // namespace

MutationPlan plan_mutations(const std::vector<MutationToPlan>& requests, const MutationState& state,
                            const MutationBounds& bounds) {
  Planner planner(state, bounds);
  for (const MutationToPlan& asked : requests) {
    if (!planner.may_take(asked)) break;
    planner.take(asked);
  }
  return planner.finish();
}

}  // namespace viewgate::ledger
