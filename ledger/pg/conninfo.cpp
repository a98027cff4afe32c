#include "ledger/pg/conninfo.hpp"

#include <libpq-fe.h>

#include <string_view>

namespace viewgate::ledger::pg {
namespace {

/// In an address one @ is written, and stands behind the user's name and password. libpq takes what has another, or a slash before
/// it, and finds a part of the password in the host, the port or the database's name, which it repeats in its errors.
bool splits_a_password(std::string_view text) {
  if (!text.starts_with("postgresql://") && !text.starts_with("postgres://")) return false;
  text.remove_prefix(text.find("//") + 2);
  const auto at = text.find('@');
  // A question mark may stand in the password; behind it, it begins the parameters.
  if (at != std::string_view::npos && text.substr(0, at).find('/') == std::string_view::npos)
    text.remove_prefix(at + 1);
  return text.substr(0, text.find('?')).find('@') != std::string_view::npos;
}

}  // namespace

bool is_conninfo(const std::string& text) {
  PQconninfoOption* const options = PQconninfoParse(text.c_str(), nullptr);
  PQconninfoFree(options);
  return options != nullptr && !splits_a_password(text);
}

}  // namespace viewgate::ledger::pg
