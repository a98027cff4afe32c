// `viewgate token`: mints a token for development, with the key that `viewgate serve` checks with (HS256) or its
// private half (RS256). A deployment's tokens come from its own issuer.
#include <iostream>
#include <memory>

#include "auth/token_minter.hpp"
#include "gateway/commands.hpp"
#include "gateway/json_text.hpp"
#include "gateway/protocol.hpp"
#include "gateway/signing_key.hpp"

namespace viewgate::gateway {
namespace {

struct TokenArguments {
  std::string subject;
  std::vector<std::string> claims;
  std::string ttl = "1h";
};

/// name=text or name:=json, as members of an object.
std::string members_of(const std::vector<std::string>& claims) {
  std::string out = "{";
  for (const auto& claim : claims) {
    const auto equals = claim.find('=');
    const bool is_json = equals != std::string::npos && equals > 0 && claim[equals - 1] == ':';
    const auto name = claim.substr(0, is_json ? equals - 1 : equals);
    if (equals == std::string::npos || name.empty()) {
      throw Stop(ExitStatus::usage, "--claim " + claim + ": write name=text or name:=json");
    }
    const auto value = claim.substr(equals + 1);
    if (out.size() > 1) out += ',';
    append_json_string(out, name);
    out += ':';
    if (!is_json) {
      append_json_string(out, value);
      continue;
    }
    if (const auto fault = json_fault(value, JsonBounds{limits::json_depth, limits::json_members})) {
      throw Stop(ExitStatus::usage, "--claim " + name + ":=… is not JSON: " + std::string(*fault));
    }
    out += value;
  }
  return out + "}";
}

std::chrono::seconds seconds_of(const std::string& ttl) {
  const auto milliseconds = parse_duration(ttl);
  if (!milliseconds || *milliseconds < std::chrono::seconds(1)) {
    throw Stop(ExitStatus::usage, "--ttl " + ttl + ": write a whole number with s, m or h, for example 1h");
  }
  return std::chrono::duration_cast<std::chrono::seconds>(*milliseconds);
}

void mint(const Config& config, const TokenArguments& arguments) {
  auth::StandardClaims standard;
  standard.issuer = config.auth_issuer;
  standard.audience = config.auth_audience;
  standard.subject = arguments.subject;
  standard.issued_at = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  standard.expires_at = standard.issued_at + seconds_of(arguments.ttl);
  try {
    const auth::TokenMinter minter(signing_key(config));
    std::cout << minter.mint(auth::claims_json(standard, members_of(arguments.claims))) << "\n";
  } catch (const std::invalid_argument& error) {
    throw Stop(ExitStatus::config, error.what());
  }
}

}  // namespace

void add_token_command(CLI::App& app) {
  auto* token = app.add_subcommand("token", "mint a token for development");
  const auto flags = std::make_shared<ConfigFlags>(*token, std::vector<std::string_view>{"auth.", "embedded"});
  const auto arguments = std::make_shared<TokenArguments>();
  token->add_option("--sub", arguments->subject, "the subject: who holds the token")->required();
  token->add_option("--claim", arguments->claims, "name=text or name:=json; may be given again")
      ->allow_extra_args(false);
  token->add_option("--ttl", arguments->ttl, "how long it is valid [1h]");
  token->callback([flags, arguments] { mint(flags->read(), *arguments); });
}

}  // namespace viewgate::gateway
