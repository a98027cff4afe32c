#include "gateway/identity.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "gateway/commands.hpp"
#include "gateway/errors.hpp"
#include "gateway/log.hpp"
#include "gateway/signing_key.hpp"

namespace viewgate::gateway {
namespace {

using auth::Algorithm;

/// Of a table, that do not hinder one another: what is wrong in any of them is told with the others.
class Steps {
 public:
  template <class Step>
  void take(const Step& step) {
    try {
      step();
    } catch (const Stop& problem) {
      problems_.push_back(problem);
    } catch (const std::invalid_argument& problem) {
      problems_.emplace_back(ExitStatus::config, problem.what());
    }
  }
  /// Throws one Stop with a line for each that is wrong; its status is the first one's.
  void end() const {
    if (problems_.empty()) return;
    std::string lines;
    for (const auto& each : problems_) lines.append(lines.empty() ? "" : "\n").append(each.what());
    throw Stop(problems_.front().status(), lines);
  }

 private:
  std::vector<Stop> problems_;
};

/// One file, for messages that name the place.
struct Table {
  std::string file;
  auth::FileKind kind;  ///< of the files that it names

  [[noreturn]] void refuse(const toml::node& where, const std::string& what) const {
    throw Stop(ExitStatus::config, file + ":" + std::to_string(where.source().begin.line) + ": " + what);
  }

  template <std::size_t N>
  void check_members(const toml::table& table, const std::array<std::string_view, N>& known) const {
    Steps steps;
    for (const auto& [name, node] : table) {
      if (std::find(known.begin(), known.end(), name.str()) != known.end()) continue;
      steps.take([&, &key = name, &value = node] { refuse(value, std::string(key.str()) + " is not known here"); });
    }
    steps.end();
  }

  [[nodiscard]] std::string text(const toml::table& table, std::string_view name) const {
    const auto value = table[name].value<std::string>();
    if (!value || value->empty()) refuse(table, std::string(name) + " must be there, as text");
    return *value;
  }

  [[nodiscard]] Algorithm algorithm(const toml::node& where, const std::optional<std::string>& name) const {
    const auto known = auth::algorithm_named(name.value_or(""));
    if (!known) refuse(where, "algorithm must be HS256, HS384, HS512, RS256, PS256, ES256 or EdDSA");
    return *known;
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (std::filesystem::path(file).parent_path() / name).string();
  }
  /// The file that a member of the table names.
  [[nodiscard]] std::string read(const toml::table& table, std::string_view member) const {
    try {
      return read_small_file(path(text(table, member)), kind);
    } catch (const Stop& problem) {
      if (problem.status() == ExitStatus::config) throw;
      const std::string place = file + ":" + std::to_string(table[member].node()->source().begin.line);
      throw Stop(problem.status(), place + ": " + std::string(member) + ": " + problem.what());
    }
  }
};

auth::KeyConfig read_key(const Table& source, const toml::node& node) {
  constexpr std::array<std::string_view, 3> members{"id", "algorithm", "file"};
  const toml::table* const key = node.as_table();
  if (key == nullptr) source.refuse(node, "key must be a table");
  auth::KeyConfig out;
  std::string material;
  Steps steps;
  steps.take([&] { source.check_members(*key, members); });
  steps.take([&] { out.id = source.text(*key, "id"); });
  steps.take([&] { out.algorithm = source.algorithm(*key, (*key)["algorithm"].value<std::string>()); });
  steps.take([&] { material = source.read(*key, "file"); });
  steps.end();
  out.material = key_material(std::move(material), out.algorithm);
  return out;
}

std::vector<auth::KeyConfig> read_keys(const Table& source, const toml::array& list) {
  std::vector<auth::KeyConfig> out;
  Steps steps;
  for (const auto& node : list) steps.take([&, &each = node] { out.push_back(read_key(source, each)); });
  steps.end();
  return out;
}

std::vector<Algorithm> read_algorithms(const Table& source, const toml::table& issuer) {
  std::vector<Algorithm> out;
  if (const toml::array* const list = issuer["algorithms"].as_array()) {
    for (const auto& node : *list) {
      out.push_back(source.algorithm(node, node.value<std::string>()));
      if (auth::is_symmetric(out.back())) source.refuse(node, "a key set has no secrets: not an HS algorithm");
    }
  }
  if (out.empty()) source.refuse(issuer, "algorithms must name those of the key set, for example [\"RS256\"]");
  return out;
}

auth::KeySet read_key_file(const Table& source, const toml::table& issuer, const std::vector<Algorithm>& algorithms) {
  auth::Jwks jwks = auth::parse_jwks(source.read(issuer, "jwks_file"), algorithms);
  for (const std::string& each : jwks.skipped) log::warn("key_skipped", {{"reason", each}});
  return std::move(jwks.keys);
}

/// Whose keys are in the table by hand, in a file, or somewhere to be fetched from: `places` gets what is read again.
void read_keys_of(const Table& source, const toml::table& issuer, auth::TokenVerifier::Issuer& row,
                  std::vector<auth::KeyPlace>& places, std::size_t index) {
  const toml::array* const keys = issuer["key"].as_array();
  const int ways =
      (keys != nullptr ? 1 : 0) + (issuer.contains("jwks_url") ? 1 : 0) + (issuer.contains("jwks_file") ? 1 : 0);
  if (ways != 1) source.refuse(issuer, "exactly one of key, jwks_file and jwks_url says which keys");
  if (keys != nullptr) {
    const auto list = read_keys(source, *keys);
    try {
      row.keys = auth::KeySet(list);
    } catch (const std::invalid_argument& problem) {
      source.refuse(issuer, problem.what());
    }
    return;
  }
  auth::KeyPlace place;
  place.issuer = index;
  Steps steps;
  steps.take([&] { place.algorithms = read_algorithms(source, issuer); });
  if (issuer.contains("jwks_file")) {
    steps.take([&] { place.file = source.path(source.text(issuer, "jwks_file")); });
  } else {
    steps.take([&] {
      place.url = source.text(issuer, "jwks_url");
      if (auth::is_key_address(place.url)) return;
      source.refuse(issuer, "jwks_url must be https://host/…, or http:// on this machine, without a user");
    });
  }
  steps.end();
  // At once, so that what is wrong with it is told at the start; and again like a set that is fetched.
  if (!place.file.empty()) row.keys = read_key_file(source, issuer, place.algorithms);
  places.push_back(std::move(place));
}

void read_issuer(const Table& source, const toml::table& issuer, const Config& config, Identity& out) {
  constexpr std::array<std::string_view, 6> members{"name", "audience", "algorithms", "jwks_url", "jwks_file", "key"};
  auth::TokenVerifier::Issuer row;
  row.config.leeway = std::chrono::duration_cast<std::chrono::seconds>(config.auth_leeway);
  Steps steps;
  steps.take([&] { source.check_members(issuer, members); });
  steps.take([&] { row.config.issuer = source.text(issuer, "name"); });
  steps.take([&] { row.config.audience = source.text(issuer, "audience"); });
  steps.take([&] { read_keys_of(source, issuer, row, out.key_places, out.issuers.size()); });
  steps.end();
  out.issuers.push_back(std::move(row));
}

Identity read_table(const Config& config) {
  const Table source{config.auth_issuers, config.files};
  const std::string text = read_named_file(config, "auth.issuers", source.file);
  try {
    const toml::table table = toml::parse(text, source.file);
    constexpr std::array<std::string_view, 1> members{"issuer"};
    const toml::array* const list = table["issuer"].as_array();
    Identity out;
    Steps steps;
    steps.take([&] { source.check_members(table, members); });
    if (list == nullptr) {
      steps.take([&] { source.refuse(table, "there is no [[issuer]]"); });
      steps.end();
    }
    for (const auto& node : *list) {
      steps.take([&, &each = node] {
        const toml::table* const issuer = each.as_table();
        if (issuer == nullptr) source.refuse(each, "issuer must be a table");
        read_issuer(source, *issuer, config, out);
      });
    }
    steps.end();
    return out;
  } catch (const toml::parse_error& error) {
    throw Stop(ExitStatus::config,
               source.file + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
}

}  // namespace

Identity read_identity(const Config& config) {
  try {
    if (!config.auth_issuers.empty()) return read_table(config);
    auth::TokenVerifier::Issuer only;
    only.config.issuer = config.auth_issuer;
    only.config.audience = config.auth_audience;
    only.config.leeway = std::chrono::duration_cast<std::chrono::seconds>(config.auth_leeway);
    only.keys = auth::KeySet(std::vector<auth::KeyConfig>{signing_key(config)});
    Identity out;
    out.issuers.push_back(std::move(only));
    return out;
  } catch (const std::invalid_argument& problem) {
    const bool is_table = !config.auth_issuers.empty();
    throw Stop(ExitStatus::config,
               place_of(config, is_table ? "auth.issuers" : "auth.key_file") + ": " + problem.what());
  }
}

}  // namespace viewgate::gateway
