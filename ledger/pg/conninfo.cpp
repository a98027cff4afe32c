#include "ledger/pg/conninfo.hpp"

#include <libpq-fe.h>

namespace viewgate::ledger::pg {

bool is_conninfo(const std::string& text) {
  PQconninfoOption* const options = PQconninfoParse(text.c_str(), nullptr);
  PQconninfoFree(options);
  return options != nullptr;
}

}  // namespace viewgate::ledger::pg
