#include "gateway/inspector_page.hpp"

#include <string>

namespace viewgate::gateway {
namespace {

// Nothing but the page's own files is loaded, run or asked; it stands in no other page, and no address of its leaks.
constexpr std::string_view fields =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

}  // namespace

void add_inspector(AdminDoor& door) {
  for (const auto& file : inspector_files()) {
    const std::string target = file.name == "index.html" ? "/inspector" : "/inspector/" + std::string(file.name);
    door.add_page(target, http_text(200, file.type, file.text, fields));
  }
}

}  // namespace viewgate::gateway
