// A view, bound to one caller and one subscription: parameters, claims and the space's name have become constants.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "projection/error.hpp"
#include "projection/group.hpp"
#include "projection/json_text.hpp"
#include "projection/model.hpp"

namespace viewgate::projection {

/// `admitted`: a policy of the view is true for the caller. Where it is not, the answer to the caller is one constant
/// text; `refusal` is for the log of the operator ("no policy admits anybody to view x"). `parameters` and `claims` are
/// canonical bytes: equal exactly where the values mean the same (1.0 and 1.00, other key order), the same on every
/// node. `claims` covers the claims that the view and its policies use, absent ones included. A cursor binds both.
struct Binding {
  ViewPtr view;
  std::string space;
  bool admitted = false;
  std::string refusal;
  std::string parameters;
  std::string claims;
  GroupPtr group;  ///< what this subscription shares with all others of the same bound predicate
};

/// A condition without parameters, bound to a caller in a space, and folded.
[[nodiscard]] Expression bind_condition(const Expression& condition, const Json& claims, std::string_view space,
                                        const RecordLayout& layout);

/// The values of one caller and one subscription, to be put into one condition after the other: for those who explain.
/// A condition that is filled and not folded has every piece of the one in the model, in its place.
class BoundValues {
 public:
  /// Errors of the parameters and the claims, as bind() has them.
  [[nodiscard]] static Result<BoundValues> make(const View& view, std::string_view parameters, std::string_view claims,
                                                std::string_view space);

  /// A condition of that view, or of its policies.
  [[nodiscard]] Expression fill(const Expression& condition) const;

 private:
  struct Values;
  explicit BoundValues(std::shared_ptr<const Values> values) : values_(std::move(values)) {}
  std::shared_ptr<const Values> values_;
};

/// `parameters` and `claims` are JSON objects as text. Claims are taken as `claims ->> 'x'` would be in PostgreSQL: an
/// absent one is NULL, one of another shape than the expression needs is an evaluation error and so admits nobody.
[[nodiscard]] Result<Binding> bind(const ViewPtr& view, std::string_view parameters, std::string_view claims,
                                   std::string_view space);

/// The same by the view's name; errc::unknown_view.
[[nodiscard]] Result<Binding> bind(const Model& model, std::string_view view, std::string_view parameters,
                                   std::string_view claims, std::string_view space);

}  // namespace viewgate::projection
