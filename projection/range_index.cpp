#include "projection/range_index.hpp"

#include <functional>
#include <utility>

namespace viewgate::projection {
namespace {

using Bound = std::optional<Interval::Bound>;

/// Lower bounds in the order in which they let values in.
std::strong_ordering order_low(const Bound& a, const Bound& b) {
  if (!a || !b) return a.has_value() <=> b.has_value();
  const auto values = compare(a->value, b->value);
  return values != 0 ? values : a->open <=> b->open;
}

/// Upper bounds in the order in which they end.
std::strong_ordering order_high(const Bound& a, const Bound& b) {
  if (!a || !b) return b.has_value() <=> a.has_value();
  const auto values = compare(a->value, b->value);
  return values != 0 ? values : b->open <=> a->open;
}

bool admits_low(const Bound& bound, const Value& value) {
  if (!bound) return true;
  const auto order = compare(value, bound->value);
  return order > 0 || (order == 0 && !bound->open);
}

bool admits_high(const Bound& bound, const Value& value) {
  if (!bound) return true;
  const auto order = compare(value, bound->value);
  return order < 0 || (order == 0 && !bound->open);
}

}  // namespace

struct RangeIndex::Node {
  Interval interval;
  const GroupPtr* group = nullptr;
  std::uint64_t priority = 0;
  const Bound* reach = nullptr;  ///< the furthest upper bound of this node and those below
  Link left;
  Link right;

  void update() {
    reach = &interval.high;
    for (const Node* child : {left.get(), right.get()}) {
      if (child != nullptr && order_high(*child->reach, *reach) > 0) reach = child->reach;
    }
  }
  [[nodiscard]] bool before(const Node& other) const {
    const auto order = order_low(interval.low, other.interval.low);
    return order < 0 || (order == 0 && std::less<>{}(group, other.group));
  }
};

RangeIndex::RangeIndex() = default;
RangeIndex::~RangeIndex() = default;
RangeIndex::RangeIndex(RangeIndex&&) noexcept = default;
RangeIndex& RangeIndex::operator=(RangeIndex&&) noexcept = default;

void RangeIndex::add(Interval interval, const GroupPtr* group) {
  auto fresh = std::make_unique<Node>();
  fresh->interval = std::move(interval);
  fresh->group = group;
  // A group's digest is as good as a random number, and the same on every node.
  fresh->priority = DigestHash{}((*group)->id());
  fresh->update();
  insert(root_, std::move(fresh));
}

void RangeIndex::remove(const Interval& interval, const GroupPtr* group) {
  Node like;
  like.interval = interval;
  like.group = group;
  erase(root_, like);
}

void RangeIndex::find(const Value& value, std::vector<const GroupPtr*>& out) const { find(root_.get(), value, out); }

void RangeIndex::insert(Link& at, Link fresh) {
  if (at == nullptr) {
    at = std::move(fresh);
  } else if (fresh->priority > at->priority) {
    split(std::move(at), *fresh, fresh->left, fresh->right);
    at = std::move(fresh);
  } else {
    Link& side = fresh->before(*at) ? at->left : at->right;
    insert(side, std::move(fresh));
  }
  at->update();
}

void RangeIndex::erase(Link& at, const Node& like) {
  if (at == nullptr) return;
  if (like.before(*at)) {
    erase(at->left, like);
  } else if (at->before(like)) {
    erase(at->right, like);
  } else {
    at = merge(std::move(at->left), std::move(at->right));
  }
  if (at != nullptr) at->update();
}

void RangeIndex::split(Link whole, const Node& at, Link& before, Link& after) {
  if (whole == nullptr) return;
  if (whole->before(at)) {
    Link rest = std::move(whole->right);
    split(std::move(rest), at, whole->right, after);
    whole->update();
    before = std::move(whole);
  } else {
    Link rest = std::move(whole->left);
    split(std::move(rest), at, before, whole->left);
    whole->update();
    after = std::move(whole);
  }
}

RangeIndex::Link RangeIndex::merge(Link before, Link after) {
  if (before == nullptr) return after;
  if (after == nullptr) return before;
  if (before->priority > after->priority) {
    before->right = merge(std::move(before->right), std::move(after));
    before->update();
    return before;
  }
  after->left = merge(std::move(before), std::move(after->left));
  after->update();
  return after;
}

void RangeIndex::find(const Node* node, const Value& value, std::vector<const GroupPtr*>& out) {
  if (node == nullptr || !admits_high(*node->reach, value)) return;
  find(node->left.get(), value, out);
  if (!admits_low(node->interval.low, value)) return;
  if (admits_high(node->interval.high, value)) out.push_back(node->group);
  find(node->right.get(), value, out);
}

Interval intersection(Interval a, Interval b) {
  if (order_low(a.low, b.low) < 0) std::swap(a.low, b.low);
  if (order_high(a.high, b.high) > 0) std::swap(a.high, b.high);
  return a;
}

}  // namespace viewgate::projection
