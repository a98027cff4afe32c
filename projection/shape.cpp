#include "projection/shape.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;

void take_slots(Expression& expression, std::vector<Value>& values) {
  if (expression.kind == Kind::constant && expression.bound) {
    expression.kind = Kind::slot;
    expression.index = static_cast<int>(values.size());
    values.push_back(std::exchange(expression.value, Null{}));
  }
  for (Expression& child : expression.children) take_slots(child, values);
}

void fill_slots(Expression& expression, std::span<const Value> values) {
  if (expression.kind == Kind::slot) {
    expression.kind = Kind::constant;
    expression.value = values[static_cast<std::size_t>(expression.index)];
    expression.index = -1;
  }
  for (Expression& child : expression.children) fill_slots(child, values);
}

}  // namespace

Shaped ShapeTable::split(Expression predicate, const RecordLayout& layout) {
  Shaped out;
  take_slots(predicate, out.values);
  out.values.shrink_to_fit();
  std::string bytes;
  append_canonical(bytes, predicate, layout);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Expression>& known = shapes_[bytes];
  out.shape = known.lock();
  if (!out.shape) {
    out.shape = std::make_shared<const Expression>(std::move(predicate));
    known = out.shape;
  }
  if (shapes_.size() >= sweep_at_) {
    std::erase_if(shapes_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, shapes_.size() * 2);
  }
  return out;
}

Expression fill(const Expression& shape, std::span<const Value> values) {
  Expression out = shape;
  fill_slots(out, values);
  return out;
}

}  // namespace viewgate::projection
