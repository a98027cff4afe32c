#include "gateway/config_reload.hpp"

#include <string>
#include <string_view>

#include "gateway/admin_door.hpp"
#include "gateway/admission.hpp"
#include "gateway/engine.hpp"
#include "gateway/identity.hpp"
#include "gateway/key_follower.hpp"
#include "gateway/log.hpp"
#include "gateway/reactor.hpp"
#include "gateway/signing_key.hpp"
#include "gateway/tls_files.hpp"
#include "gateway/view_desk.hpp"
#include "gateway/wiring.hpp"

namespace viewgate::gateway {
namespace {

std::string joined(const std::vector<std::string_view>& keys) {
  std::string out;
  for (const auto key : keys) out.append(out.empty() ? "" : ",").append(key);
  return out.empty() ? "none" : out;
}

/// Problems are lines; a log has one for all of them.
std::string in_one_line(std::string text) {
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) text.replace(at, 1, "; ");
  return text;
}

}  // namespace

void ConfigReload::read_again() {
  try {
    const Config& now = parts_.config;
    const auto change = take_change(now, parts_.read());
    auto identity = read_identity(change.config);
    const auto credential = parts_.admin == nullptr ? std::string() : admin_credential(change.config);
    const bool tls_moves = change.config.tls_certificate != now.tls_certificate || change.config.tls_key != now.tls_key;
    const auto tls = tls_moves ? TlsFiles::of(change.config) : nullptr;
    parts_.keys.replace(std::move(identity), anonymous_of(change.config), key_source_options(change.config));
    if (tls) {
      parts_.tls->adopt(*tls);
    } else if (parts_.tls != nullptr) {
      parts_.tls->read_again();
    }
    if (parts_.admin != nullptr) parts_.admin->take_credential(credential);
    take_over(change);
  } catch (const std::exception& problem) {
    log::error("config_not_reloaded", {{"reason", in_one_line(problem.what())}});
  }
}

void ConfigReload::take_over(const ConfigChange& change) {
  Config& config = parts_.config;
  config = change.config;
  parts_.admission->set_limits(admission_limits(config));
  parts_.engine.set_join_time(config.time_join);
  parts_.views.take(view_desk_options(config));
  for (std::size_t i = 0; i < parts_.reactors.size(); ++i) {
    Reactor& reactor = *parts_.reactors[i];
    auto options = reactor_options(config, i, parts_.endpoint);
    options.session.admission = parts_.admission;
    reactor.take(std::move(options));
    // Tokens may have become good, or bad.
    reactor.post([](ReactorPort& port) {
      port.on_revoked();
      port.on_keys();
    });
  }
  const auto level = change.waiting.empty() ? log::Level::info : log::Level::warn;
  log::write(level, "config_reloaded", {{"taken", joined(change.taken)}, {"needs_restart", joined(change.waiting)}});
  log::set_level(log::level_of(config.log_level));  // after the line that says so
}

}  // namespace viewgate::gateway
