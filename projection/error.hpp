// What can go wrong in projection, and the Result that carries it. Every outcome is one a caller can act on:
// gateway/errors turns each into its wire form. Model errors are another thing (model_parser.hpp): there are many at
// once, with places.
#pragma once

#include <boost/system/result.hpp>
#include <string>

#include "ledger/error.hpp"

namespace viewgate::projection {

enum class errc {
  unknown_view,        ///< the model has no view of that name
  invalid_parameters,  ///< the parameters are not one JSON object
  unknown_parameter,   ///< the view has no parameter of that name
  missing_parameter,   ///< the view needs a parameter that was not given
  invalid_parameter,   ///< the value is not one of the parameter's type
  invalid_claims,      ///< the claims are not one JSON object
  not_admitted,        ///< the parameters are wrong, and no policy admits the caller to be told so
  malformed_record     ///< a record's text is not what to_jsonb prints: the log is damaged
};

/// `name` is the parameter (view, claim) that the error is about. `detail` says what was found and what would be right;
/// it never repeats a value of a record or a claim, so that it may be told to the caller whose parameters they are.
struct Error {
  errc code = errc::invalid_parameters;
  std::string name;
  std::string detail;
};

[[nodiscard]] const char* name(errc code);

using Failure = ledger::FailureOf<Error>;

[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw Failure(error);
}

template <class T>
using Result = boost::system::result<T, Error>;

}  // namespace viewgate::projection
