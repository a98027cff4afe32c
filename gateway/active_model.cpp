#include "gateway/active_model.hpp"

#include <algorithm>

#include "gateway/errors.hpp"

namespace viewgate::gateway {
namespace {

GroupId id_of(const projection::Group& group) { return GroupId{group.id().bytes}; }

std::string_view bytes_of(const projection::Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

CursorContext context_of(const auth::Principal& principal, const Subscribe& subscribe,
                         const projection::Binding& binding) {
  CursorContext out;
  out.principal = digest16({principal.issuer, principal.subject});
  out.subscription = digest16({subscribe.space, subscribe.view, binding.parameters});
  out.view_version = digest8({bytes_of(binding.view->version)});
  out.claims = digest8({binding.claims});
  out.group = id_of(*binding.group);
  return out;
}

SubscribeRefusal refuse(ErrorCode code, std::string cause) {
  return SubscribeRefusal{code, std::string(constant_text(code)), std::nullopt, std::move(cause)};
}

SubscribeRefusal unavailable(const ActiveModel& model, std::string cause);

/// While views are left out, nobody can say who may see them: so what is not there and what is not allowed are answered alike.
SubscribeRefusal forbid(const ActiveModel& model, std::string cause) {
  return model.left_out.empty() ? refuse(ErrorCode::forbidden, std::move(cause)) : unavailable(model, std::move(cause));
}

SubscribeRefusal unavailable(const ActiveModel& model, std::string cause) {
  auto out = refuse(ErrorCode::unavailable, std::move(cause));
  out.retry_after = model.retry_after;
  return out;
}

}  // namespace

GroupSpec::GroupSpec(projection::GroupPtr bound, const CursorKeys& keys)
    : group(std::move(bound)), id(id_of(*group)), space(group->space()), channel(channel_of(id)), sealer(keys, id) {}

BindResult bind_subscription(const ActiveModel& model, const auth::Principal& principal, const Subscribe& subscribe) {
  if (!model.model) return unavailable(model, "no valid model is in force; see `viewgate model apply`");
  auto bound = projection::bind(*model.model, subscribe.view, subscribe.params, principal.claims, subscribe.space);
  if (!bound) {
    const auto& error = bound.error();
    if (error_code_of(error.code) == ErrorCode::forbidden) return forbid(model, error.detail);
    auto refusal = refuse(error_code_of(error.code), error.detail);
    // A parameter is the caller's own: saying which one is wrong, and how, discloses nothing.
    if (refusal.code == ErrorCode::invalid_view) refusal.text = error.detail;
    return refusal;
  }
  const auto& binding = bound.value();
  if (!binding.admitted) return forbid(model, binding.refusal);
  if (const auto hole = model.broken.find(binding.view->table->collection); hole != model.broken.end()) {
    return unavailable(model, hole->second);
  }
  Bound out;
  out.spec = std::make_shared<const GroupSpec>(binding.group, *model.keys);
  out.context = context_of(principal, subscribe, binding);
  out.context_token = seal_context(*model.keys, out.context);
  return out;
}

CursorCheck check_cursor(const ActiveModel& model, const Bound& bound, std::string_view cursor) {
  const auto parts = split_cursor(cursor);
  if (!parts) return CursorInvalid{};
  const auto context = open_context(*model.keys, parts->context);
  if (!context) return CursorInvalid{};
  if (context->principal != bound.context.principal || context->subscription != bound.context.subscription) {
    return CursorInvalid{};
  }
  // The position belongs to the group that the cursor names, which is another one after a change of view or claims: it
  // is authenticated before anything is said about why it is of no use any more.
  const bool same_group = context->group == bound.context.group;
  const auto position = same_group ? bound.spec->sealer.open(parts->position)
                                   : PositionSealer(*model.keys, context->group).open(parts->position);
  if (!position) return CursorInvalid{};
  if (context->view_version != bound.context.view_version) return ResetReason::view_changed;
  if (context->claims != bound.context.claims) return ResetReason::authorization_changed;
  if (!same_group) return ResetReason::view_changed;
  return Resume{*position};
}

bool still_in_force(const ActiveModel& model, const GroupSpec& spec) {
  if (!model.model) return false;
  const auto& followed = *spec.group->view();
  const auto view = model.model->view(followed.name);
  return view && view->version == followed.version && !model.broken.contains(followed.table->collection);
}

bool is_same(const ActiveModel& one, const ActiveModel& other) {
  const auto same_key = [](const CursorKeys::Key& a, const CursorKeys::Key& b) {
    return a.id == b.id && a.secret == b.secret;
  };
  if (!std::equal(one.keys->all().begin(), one.keys->all().end(), other.keys->all().begin(), other.keys->all().end(),
                  same_key)) {
    return false;
  }
  if (one.broken != other.broken || one.left_out != other.left_out || one.problems != other.problems ||
      one.hash != other.hash || !one.model != !other.model)
    return false;
  // The text may be the same and its tables not: a view's version covers both.
  const auto same_view = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second->version == b.second->version;
  };
  return !one.model || std::equal(one.model->views.begin(), one.model->views.end(), other.model->views.begin(),
                                  other.model->views.end(), same_view);
}

}  // namespace viewgate::gateway
