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

/// One file, for messages that name the place.
struct Table {
  std::string file;

  [[noreturn]] void refuse(const toml::node& where, const std::string& what) const {
    throw Stop(ExitStatus::config, file + ":" + std::to_string(where.source().begin.line) + ": " + what);
  }

  template <std::size_t N>
  void check_members(const toml::table& table, const std::array<std::string_view, N>& known) const {
    for (const auto& [name, node] : table) {
      if (std::find(known.begin(), known.end(), name.str()) == known.end()) {
        refuse(node, std::string(name.str()) + " is not known here");
      }
    }
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
  [[nodiscard]] std::string read(const std::string& name) const { return read_whole_file(path(name)); }
};

std::vector<auth::KeyConfig> read_keys(const Table& source, const toml::array& list) {
  constexpr std::array<std::string_view, 3> members{"id", "algorithm", "file"};
  std::vector<auth::KeyConfig> out;
  for (const auto& node : list) {
    const toml::table* const key = node.as_table();
    if (key == nullptr) source.refuse(node, "key must be a table");
    source.check_members(*key, members);
    auth::KeyConfig config;
    config.id = source.text(*key, "id");
    config.algorithm = source.algorithm(*key, (*key)["algorithm"].value<std::string>());
    config.material = key_material(source.read(source.text(*key, "file")), config.algorithm);
    out.push_back(std::move(config));
  }
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
  auth::Jwks jwks = auth::parse_jwks(source.read(source.text(issuer, "jwks_file")), algorithms);
  for (const std::string& each : jwks.skipped) log::warn("key_skipped", {{"reason", each}});
  return std::move(jwks.keys);
}

void read_issuer(const Table& source, const toml::table& issuer, const Config& config, Identity& out) {
  constexpr std::array<std::string_view, 6> members{"name", "audience", "algorithms", "jwks_url", "jwks_file", "key"};
  source.check_members(issuer, members);
  auth::TokenVerifier::Issuer row;
  row.config.issuer = source.text(issuer, "name");
  row.config.audience = source.text(issuer, "audience");
  row.config.leeway = std::chrono::duration_cast<std::chrono::seconds>(config.auth_leeway);
  const toml::array* const keys = issuer["key"].as_array();
  const int ways =
      (keys != nullptr ? 1 : 0) + (issuer.contains("jwks_url") ? 1 : 0) + (issuer.contains("jwks_file") ? 1 : 0);
  if (ways != 1) source.refuse(issuer, "exactly one of key, jwks_file and jwks_url says which keys");
  if (keys != nullptr) {
    row.keys = auth::KeySet(read_keys(source, *keys));
  } else if (issuer.contains("jwks_file")) {
    // At once, so that what is wrong with it is told at the start; and again like a set that is fetched.
    auth::KeyPlace place{
        out.issuers.size(), {}, source.path(source.text(issuer, "jwks_file")), read_algorithms(source, issuer)};
    row.keys = read_key_file(source, issuer, place.algorithms);
    out.key_places.push_back(std::move(place));
  } else {
    auth::KeyPlace place{out.issuers.size(), source.text(issuer, "jwks_url"), {}, read_algorithms(source, issuer)};
    if (!auth::is_key_address(place.url)) {
      source.refuse(issuer, "jwks_url must be https://host/…, or http:// on this machine, without a user");
    }
    out.key_places.push_back(std::move(place));
  }
  out.issuers.push_back(std::move(row));
}

/// One for all issuers that are wrong; its status is the first one's.
Stop all_of(const std::vector<Stop>& problems) {
  std::string lines;
  for (const auto& each : problems) lines.append(lines.empty() ? "" : "\n").append(each.what());
  return {problems.front().status(), lines};
}

Identity read_table(const Config& config) {
  const Table source{config.auth_issuers};
  const std::string text = read_whole_file(source.file);
  try {
    const toml::table table = toml::parse(text, source.file);
    constexpr std::array<std::string_view, 1> members{"issuer"};
    source.check_members(table, members);
    const toml::array* const list = table["issuer"].as_array();
    if (list == nullptr) source.refuse(table, "there is no [[issuer]]");
    Identity out;
    std::vector<Stop> problems;
    for (const auto& node : *list) {
      try {
        const toml::table* const issuer = node.as_table();
        if (issuer == nullptr) source.refuse(node, "issuer must be a table");
        read_issuer(source, *issuer, config, out);
      } catch (const Stop& problem) {
        problems.push_back(problem);
      } catch (const std::invalid_argument& problem) {
        problems.emplace_back(ExitStatus::config, problem.what());
      }
    }
    if (!problems.empty()) throw all_of(problems);
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
    throw Stop(ExitStatus::config, problem.what());
  }
}

}  // namespace viewgate::gateway
