#include "projection/error.hpp"

namespace viewgate::projection {

const char* name(errc code) {
  switch (code) {
    case errc::unknown_view:
      return "unknown_view";
    case errc::invalid_parameters:
      return "invalid_parameters";
    case errc::unknown_parameter:
      return "unknown_parameter";
    case errc::missing_parameter:
      return "missing_parameter";
    case errc::invalid_parameter:
      return "invalid_parameter";
    case errc::invalid_claims:
      return "invalid_claims";
    case errc::not_admitted:
      return "not_admitted";
    case errc::malformed_record:
      return "malformed_record";
  }
  return "invalid_parameters";
}

}  // namespace viewgate::projection
