// Conditions as SQL that cannot raise: for narrowing what a bootstrap reads, never for deciding. Internal to the layer.
#pragma once

#include <string>
#include <string_view>

#include "projection/model.hpp"

namespace viewgate::projection {

/// The column behind the row's alias t, as it is.
[[nodiscard]] std::string column_sql(const Table& table, std::size_t column);

/// 'text'::type
[[nodiscard]] std::string typed_literal(std::string_view text, std::string_view type);

/// True wherever the predicate is true, and perhaps elsewhere: only for places where more rows are harmless. "true"
/// where nothing of it can be said in SQL.
[[nodiscard]] std::string superset_condition(const Table& table, const Expression& predicate);

}  // namespace viewgate::projection
