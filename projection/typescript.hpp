// The model as types of TypeScript: what views show and are given, and what mutations write. What a record's columns become in a
// client depends on how it reads numbers (client/src/numbers.ts), so the two say it together.
#pragma once

#include <cstdint>
#include <string>

#include "projection/model.hpp"

namespace viewgate::projection {

/// How the client reads records.
enum class NumberForm : std::uint8_t {
  json,      ///< by JSON.parse: every number is a double
  lossless,  ///< by parseLossless: what a double cannot hold is a bigint or text
  exact      ///< by columns(…): int8 is a bigint and numeric is text; the module holds the parser, too
};

/// A module that exports the type `Model`, for `connect<Model>`; with NumberForm::exact also `parse`, for its options.
[[nodiscard]] std::string typescript(const Model& model, NumberForm numbers);

}  // namespace viewgate::projection
