#include "gateway/config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "gateway/config_values.hpp"

namespace viewgate::gateway {
namespace {

using Strings = std::vector<std::string>;

/// A value in a problem: escaped, and cut, since it may be a whole file given by mistake.
std::string shown(std::string_view value) {
  std::string out = "\"";
  for (const char c : value.substr(0, 80)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (value.size() > 80 ? "…\"" : "\"");
}

/// Keys whose values may hold a password are not repeated.
bool is_secret(const Setting& setting) { return setting.key == "database"; }

const Setting* find_setting(std::string_view key) {
  const auto all = settings();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Setting& each) { return each.key == key; });
  return found == all.end() ? nullptr : &*found;
}

class Reading {
 public:
  Reading() : config_(default_config()) {}

  void take(const Setting& setting, const std::string& source, std::string_view value) {
    written_[setting.key] = {source, std::string(trim(value))};
    if (const auto right = store_value(config_, setting, value)) {
      problems_.push_back(source + ": " + std::string(setting.key) + " is " +
                          (is_secret(setting) ? std::string("not valid") : shown(value)) + ", but must be " + *right);
    }
  }
  void unknown(const std::string& source, std::string_view key) {
    problems_.push_back(source + ": there is no setting " + shown(key) + nearest(key));
  }
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  std::variant<Config, Strings> finish() {
    check_relations();
    if (!problems_.empty()) return problems_;
    return config_;
  }

 private:
  static std::string nearest(std::string_view key) {
    const auto tail = key.substr(key.rfind('.') == std::string_view::npos ? 0 : key.rfind('.') + 1);
    for (const auto& setting : settings()) {
      if (!tail.empty() && setting.key.find(tail) != std::string_view::npos) {
        return "; did you mean " + std::string(setting.key) + "?";
      }
    }
    return "; `viewgate serve --help` lists them";
  }

  struct Written {
    std::string source;
    std::string value;
  };

  /// "/etc/viewgate.toml:7: time.silence is 20s": where the values stand that do not go together, each at its place.
  [[nodiscard]] std::string place_of(std::string_view key) const {
    const Setting& setting = *find_setting(key);
    const auto found = written_.find(key);
    if (found == written_.end()) return "default: " + std::string(key) + " is " + shown(setting.fallback);
    return found->second.source + ": " + std::string(key) + " is " +
           (is_secret(setting) ? "given" : shown(found->second.value));
  }
  void relation(std::string_view key, std::string_view other, std::string_view right) {
    problem(place_of(key) + ", but must be " + std::string(right) + " (" + place_of(other) + ")");
  }

  void check_relations() {
    if (!problems_.empty()) return;  // relations of values that were not taken would only confuse
    if (config_.time_heartbeat * 2 >= config_.time_silence) {
      relation("time.silence", "time.heartbeat",
               "more than twice time.heartbeat, else one lost answer ends a connection");
    }
    if (config_.snapshot_memory_bytes > config_.snapshot_total_bytes) {
      relation("snapshot.total_bytes", "snapshot.memory_bytes", "at least snapshot.memory_bytes");
    }
    if (config_.look_busy > config_.look_quiet) {
      relation("ledger.look_quiet", "ledger.look_busy", "at least ledger.look_busy");
    }
    if (config_.look_quiet > config_.look_idle) {
      relation("ledger.look_idle", "ledger.look_quiet", "at least ledger.look_quiet");
    }
    if (config_.tls_certificate.empty() && !config_.tls_key.empty()) {
      relation("tls.certificate", "tls.key", "the certificate of tls.key: they go together");
    }
    if (config_.tls_key.empty() && !config_.tls_certificate.empty()) {
      relation("tls.key", "tls.certificate", "the key of tls.certificate: they go together");
    }
    if (!config_.database.empty() && !config_.embedded.empty()) {
      relation("embedded", "database", "left out: it makes a PostgreSQL of its own");
    }
  }

  Config config_;
  Strings problems_;
  std::map<std::string_view, Written> written_;  // by key: what won
};

/// A TOML value as one would write it on the command line; nothing for a table or a date.
std::optional<std::string> plain_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* array = node.as_array()) {
    std::string out;
    for (const auto& item : *array) {
      const auto* text = item.as_string();
      if (text == nullptr) return std::nullopt;
      out += (out.empty() ? "" : ",") + text->get();
    }
    return out;
  }
  return std::nullopt;
}

void read_table(Reading& reading, const std::string& file, const toml::table& table, const std::string& prefix) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const std::string source = file + ":" + std::to_string(node.source().begin.line);
    const auto* setting = find_setting(key);
    if (const auto* inner = node.as_table(); inner != nullptr && setting == nullptr) {
      read_table(reading, file, *inner, key + ".");
    } else if (setting == nullptr) {
      reading.unknown(source, key);
    } else if (const auto text = plain_text(node)) {
      reading.take(*setting, source, *text);
    } else {
      std::string problem = source;
      problem.append(": ").append(key).append(" must be ").append(allowed_text(*setting));
      reading.problem(problem.append(", as a string or a whole number"));
    }
  }
}

void read_file(Reading& reading, const std::string& file) {
  // Parsing a file that does not exist and one that is not TOML both throw.
  try {
    const toml::table table = toml::parse_file(file);
    read_table(reading, file, table, "");
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    reading.problem(file + (line > 0 ? ":" + std::to_string(line) : std::string()) + ": " +
                    std::string(error.description()));
  }
}

}  // namespace

std::string flag_of(const Setting& setting) {
  std::string out = "--" + std::string(setting.key);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return out;
}

std::string environment_of(const Setting& setting) {
  std::string out = "VIEWGATE_";
  for (const char c : setting.key) out += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

std::variant<Config, Strings> read_config(const ConfigSources& sources) {
  Reading reading;
  if (sources.file) read_file(reading, *sources.file);
  std::map<std::string, const Setting*, std::less<>> by_environment;
  for (const auto& setting : settings()) by_environment[environment_of(setting)] = &setting;
  for (const auto& [name, value] : sources.environment) {
    const auto found = by_environment.find(name);
    if (found == by_environment.end()) {
      reading.problem("environment: there is no setting " + shown(name) + "; `viewgate serve --help` lists them");
    } else {
      reading.take(*found->second, "environment " + name, value);
    }
  }
  for (const auto& [key, value] : sources.flags) {
    if (const auto* setting = find_setting(key)) {
      reading.take(*setting, flag_of(*setting), value);
    } else {
      reading.unknown("command line", key);
    }
  }
  return reading.finish();
}

Config default_config() {
  Config config;
  for (const auto& setting : settings()) static_cast<void>(store_value(config, setting, setting.fallback));
  return config;
}

namespace {

bool is_equal(const Config& a, const Config& b, const Member& member) {
  return std::visit([&](const auto each) { return a.*each == b.*each; }, member);
}

}  // namespace

ConfigChange take_change(const Config& now, const Config& fresh) {
  ConfigChange out;
  out.config = now;
  // Sockets speak TLS or they do not, from their first byte on: which one is decided at the start.
  const bool turns_tls = now.tls_certificate.empty() != fresh.tls_certificate.empty();
  for (const auto& setting : settings()) {
    if (is_equal(now, fresh, setting.member)) continue;
    const bool waits = setting.reload == Reload::restart ||
                       (turns_tls && (setting.key == "tls.certificate" || setting.key == "tls.key"));
    (waits ? out.waiting : out.taken).push_back(setting.key);
    if (!waits) std::visit([&](const auto each) { out.config.*each = fresh.*each; }, setting.member);
  }
  return out;
}

}  // namespace viewgate::gateway
