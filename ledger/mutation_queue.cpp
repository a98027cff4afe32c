#include "ledger/mutation_queue.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::ledger {
namespace {

constexpr std::size_t kSharedMin = 16;  ///< so many spaces are not worth two transactions

}  // namespace

std::size_t bytes_of(const MutationRequest& request) {
  std::size_t out = sizeof(MutationRequest) + request.body.size() + request.fields.size();
  for (const Mutation& mutation : request.mutations) {
    out += sizeof(Mutation) + mutation.key.size() + mutation.value.size() + mutation.bases.size() * sizeof(Base);
  }
  return out;
}

PendingBatch batch_of(std::vector<PendingMutation> pending) {
  PendingBatch out;
  out.pending = std::move(pending);
  std::vector<std::string>& spaces = out.content.spaces;
  for (const PendingMutation& each : out.pending) spaces.push_back(each.request.space);
  // Not by std::ranges: clang 14, which builds the fuzzers, does not compile what GCC 12 has of it.
  std::sort(spaces.begin(), spaces.end());
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  for (const PendingMutation& each : out.pending) {
    const auto space = std::lower_bound(spaces.begin(), spaces.end(), each.request.space);
    out.content.requests.push_back(
        MutationToPlan{&each.request, each.rules.get(), static_cast<std::size_t>(space - spaces.begin())});
  }
  return out;
}

bool MutationQueue::has_room_for(const std::string& space, const std::string& principal, std::size_t bytes) const {
  const auto share = [&](const Shares& shares) {
    const auto found = shares.find(principal);
    return found == shares.end() ? 0 : found->second;
  };
  const auto known = spaces_.find(space);
  if (known != spaces_.end()) {
    const std::size_t waiting = known->second.waiting.size();
    if (waiting >= limits_.waiting_max || share(known->second.requests) >= limits_.waiting_max - waiting) return false;
  }
  if (waiting_bytes_ + bytes > limits_.waiting_bytes_max) return false;
  return share(bytes_) <= limits_.waiting_bytes_max - waiting_bytes_ - bytes;
}

void MutationQueue::take_off(Shares& shares, const std::string& principal, std::size_t less) {
  const auto found = shares.find(principal);
  found->second -= less;
  if (found->second == 0) shares.erase(found);
}

void MutationQueue::count(Space& space, const PendingMutation& pending) {
  const std::string& principal = pending.request.principal;
  ++waiting_;
  waiting_bytes_ += pending.bytes;
  ++space.requests[principal];
  bytes_[principal] += pending.bytes;
}

void MutationQueue::discount(Space& space, const PendingMutation& pending) {
  const std::string& principal = pending.request.principal;
  --waiting_;
  waiting_bytes_ -= pending.bytes;
  take_off(space.requests, principal, 1);
  take_off(bytes_, principal, pending.bytes);
}

void MutationQueue::add(PendingMutation pending) {
  const std::string name = pending.request.space;
  Space& space = spaces_[name];
  count(space, pending);
  space.waiting.push_back(std::move(pending));
  if (space.state == SpaceState::idle) make_ready(name, space);
}

void MutationQueue::make_ready(const std::string& name, Space& space) {
  space.state = SpaceState::ready;
  ready_.push_back(name);
}

PendingBatch MutationQueue::take() {
  std::vector<PendingMutation> pending;
  std::size_t bytes = 0;
  // Half of many: the database has more than one core, and one transaction's flush is another's time to work.
  const std::size_t leave =
      ready_.size() > kSharedMin ? ready_.size() - std::max(kSharedMin, (ready_.size() + 1) / 2) : 0;
  while (ready_.size() > leave && pending.size() < limits_.batch_max) {
    Space& space = spaces_[ready_.front()];
    const bool has_room = pending.empty() || bytes + space.waiting.front().bytes <= limits_.batch_bytes_max;
    if (!has_room || (space.is_alone && !pending.empty())) break;
    space.state = SpaceState::written;
    ready_.pop_front();
    take_from(space, pending, bytes);
    if (std::exchange(space.is_alone, false)) break;
  }
  return batch_of(std::move(pending));
}

void MutationQueue::take_from(Space& space, std::vector<PendingMutation>& pending, std::size_t& bytes) {
  while (!space.waiting.empty() && pending.size() < limits_.batch_max) {
    PendingMutation& next = space.waiting.front();
    if (!pending.empty() && bytes + next.bytes > limits_.batch_bytes_max) break;
    bytes += next.bytes;
    discount(space, next);
    pending.push_back(std::move(next));
    space.waiting.pop_front();
  }
}

void MutationQueue::give_back(PendingBatch& batch, std::size_t from) {
  while (batch.pending.size() > from) {
    PendingMutation& pending = batch.pending.back();
    Space& space = spaces_[pending.request.space];
    count(space, pending);
    space.waiting.push_front(std::move(pending));
    batch.pending.pop_back();
  }
}

void MutationQueue::keep_alone(const std::vector<std::string>& spaces) {
  for (const std::string& name : spaces) spaces_[name].is_alone = true;
}

void MutationQueue::finish(const std::vector<std::string>& spaces) {
  for (const std::string& name : spaces) {
    const auto found = spaces_.find(name);
    if (found->second.waiting.empty()) {
      spaces_.erase(found);
    } else {
      make_ready(name, found->second);
    }
  }
}

}  // namespace viewgate::ledger
