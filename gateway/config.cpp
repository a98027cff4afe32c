#include "gateway/config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "gateway/config_values.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

using Strings = std::vector<std::string>;

/// A value in a problem: escaped, and cut, since it may be a whole file given by mistake.
std::string shown(std::string_view value) {
  constexpr std::size_t bytes_max = 80;
  std::string out = "\"";
  for (const char c : utf8_prefix(value, bytes_max)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (value.size() > bytes_max ? "…\"" : "\"");
}

/// Keys whose values may hold a password are not repeated.
bool is_secret(const Setting& setting) { return setting.kind == SettingKind::conninfo; }

const Setting* find_setting(std::string_view key) {
  const auto all = settings();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Setting& each) { return each.key == key; });
  return found == all.end() ? nullptr : &*found;
}

/// What it takes to make one of the other: letters put in, left out, exchanged for another or with their neighbour.
std::size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> all(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        all[i][j] = i + j;
        continue;
      }
      all[i][j] = std::min({all[i - 1][j] + 1, all[i][j - 1] + 1, all[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) all[i][j] = std::min(all[i][j], all[i - 2][j - 2] + 1);
    }
  }
  return all[a.size()][b.size()];
}

/// A setting whose name, as `name_of` writes it, is the same but for a letter in four, or ends in what was written for a section's.
std::string nearest(std::string_view written, std::string (*name_of)(const Setting&)) {
  constexpr std::size_t longest = 64;
  std::string best;
  std::size_t best_distance = std::min(written.size(), longest) / 4 + 1;
  for (const auto& setting : settings()) {
    if (written.size() > longest) break;
    const std::string name = name_of(setting);
    const bool is_tail = name.size() > written.size() && name.ends_with("." + std::string(written));
    const std::size_t distance = is_tail ? 0 : distance_of(written, name);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = name;
  }
  return best.empty() ? "; `viewgate serve --help` lists them" : "; did you mean " + best + "?";
}

std::string key_of(const Setting& setting) { return std::string(setting.key); }

class Reading {
 public:
  explicit Reading(auth::FileKind files) : config_(default_config()) { config_.files = files; }

  void take(const Setting& setting, const std::string& source, std::string_view value) {
    config_.written[setting.key] = source;
    values_[setting.key] = trim(value);
    not_taken_.erase(setting.key);
    if (const auto right = store_value(config_, setting, value)) {
      refuse(setting, source + ": " + std::string(setting.key) + " is " +
                          (is_secret(setting) ? std::string("not valid") : shown(value)) + ", but must be " + *right);
    }
  }
  /// Of a value that is none.
  void refuse(const Setting& setting, std::string text) {
    not_taken_.insert(setting.key);
    problem(std::move(text));
  }
  void unknown(const std::string& source, std::string_view key) {
    problems_.push_back(source + ": there is no setting " + shown(key) + nearest(key, key_of));
  }
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  std::variant<Config, Strings> finish() {
    check_relations();
    if (!problems_.empty()) return problems_;
    return config_;
  }

 private:
  /// "/etc/viewgate.toml:7: time.silence is 20s": where the values stand that do not go together, each at its place.
  [[nodiscard]] std::string said_of(std::string_view key) const {
    const Setting& setting = *find_setting(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return "default: " + std::string(key) + " is " + shown(setting.fallback);
    return place_of(config_, key) + " is " + (is_secret(setting) ? "given" : shown(found->second));
  }
  /// Of values that were not taken it would only confuse.
  void relation(bool is_wrong, std::string_view key, std::string_view other, std::string_view right) {
    if (!is_wrong || not_taken_.contains(key) || not_taken_.contains(other)) return;
    problem(said_of(key) + ", but must be " + std::string(right) + " (" + said_of(other) + ")");
  }

  void check_relations() {
    const Config& c = config_;
    relation(c.time_heartbeat * 2 >= c.time_silence, "time.silence", "time.heartbeat",
             "more than twice time.heartbeat, else one lost answer ends a connection");
    relation(c.snapshot_memory_bytes > c.snapshot_total_bytes, "snapshot.total_bytes", "snapshot.memory_bytes",
             "at least snapshot.memory_bytes");
    relation(c.look_busy > c.look_quiet, "ledger.look_quiet", "ledger.look_busy", "at least ledger.look_busy");
    relation(c.look_quiet > c.look_idle, "ledger.look_idle", "ledger.look_quiet", "at least ledger.look_quiet");
    relation(c.tls_certificate.empty() && !c.tls_key.empty(), "tls.certificate", "tls.key",
             "the certificate of tls.key: they go together");
    relation(c.tls_key.empty() && !c.tls_certificate.empty(), "tls.key", "tls.certificate",
             "the key of tls.certificate: they go together");
    relation(!c.database.empty() && !c.embedded.empty(), "embedded", "database",
             "left out: it makes a PostgreSQL of its own");
  }

  Config config_;
  Strings problems_;
  std::map<std::string_view, std::string> values_;  // by key, as written: what won
  std::set<std::string_view> not_taken_;
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
      std::string wrong = source;
      wrong.append(": ").append(key).append(" must be ").append(allowed_text(*setting));
      wrong.append(", as a string or a whole number");
      reading.refuse(*setting, std::move(wrong));
    }
  }
}

void read_file(Reading& reading, const std::string& file, auth::FileKind kind) {
  std::string text;
  try {
    text = auth::read_named(file, kind, auth::named_file_bytes_max);
  } catch (const std::runtime_error& problem) {
    return reading.problem(problem.what());
  }
  try {
    const toml::table table = toml::parse(text, file);
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
  Reading reading(sources.kind);
  if (sources.file) read_file(reading, *sources.file, sources.kind);
  std::map<std::string, const Setting*, std::less<>> by_environment;
  for (const auto& setting : settings()) by_environment[environment_of(setting)] = &setting;
  for (const auto& [name, value] : sources.environment) {
    const auto found = by_environment.find(name);
    if (found == by_environment.end()) {
      reading.problem("environment: there is no setting " + shown(name) + nearest(name, environment_of));
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

std::string place_of(const Config& config, std::string_view key) {
  const auto found = config.written.find(key);
  return (found == config.written.end() ? "" : found->second + ": ") + std::string(key);
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
  out.config.files = fresh.files;
  // Sockets speak TLS or they do not, from their first byte on: which one is decided at the start.
  const bool turns_tls = now.tls_certificate.empty() != fresh.tls_certificate.empty();
  for (const auto& setting : settings()) {
    if (is_equal(now, fresh, setting.member)) continue;
    const bool waits = setting.reload == Reload::restart ||
                       (turns_tls && (setting.key == "tls.certificate" || setting.key == "tls.key"));
    (waits ? out.waiting : out.taken).push_back(setting.key);
    if (waits) continue;
    std::visit([&](const auto each) { out.config.*each = fresh.*each; }, setting.member);
    out.config.written.erase(setting.key);
    if (const auto place = fresh.written.find(setting.key); place != fresh.written.end())
      out.config.written.insert(*place);
  }
  return out;
}

}  // namespace viewgate::gateway
