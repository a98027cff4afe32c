// Expressions and models as people read them: what `viewgate check` prints.
#pragma once

#include <string>

#include "projection/model.hpp"

namespace viewgate::projection {

/// The expression as SQL, with every cast that the parser chose. Not for a machine: what it reads back as is not promised.
[[nodiscard]] std::string text_of(const Expression& expression, const RecordLayout& layout);

/// For each view: what it shows, which parameters and claims it needs, of which types, who is admitted, and which policies
/// limit its records.
[[nodiscard]] std::string report(const Model& model);

}  // namespace viewgate::projection
