// `viewgate revoke`: who may see nothing more, from now on.
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"

namespace viewgate::gateway {
namespace {

struct RevokeArguments {
  std::string principal;
  std::string token_id;
  std::string issuer;
  std::string lasting = "9600h";
};

void revoke(const Config& config, const RevokeArguments& arguments) {
  if (arguments.principal.empty() == arguments.token_id.empty()) {
    throw Stop(ExitStatus::usage, "say either --principal or --token-id");
  }
  const auto lasting = parse_duration(arguments.lasting);
  if (!lasting || lasting->count() <= 0) {
    throw Stop(ExitStatus::usage,
               "--for " + arguments.lasting + ": write a whole number with s, m or h, for example 720h");
  }
  CommandDatabase database(config.database);
  const ledger::pg::Params values{arguments.principal, arguments.token_id, arguments.issuer,
                                  std::to_string(lasting->count()) + " ms"};
  const auto made =
      database.exec("select viewgate.revoke(nullif($1, ''), nullif($2, ''), nullif($3, ''), $4::interval)", values);
  std::cout << "revoked; revocation " << made[0].text(0) << "\n";
}

void add_revoke(CLI::App& app) {
  auto* command = app.add_subcommand("revoke", "end what tokens allow before they expire, on every node");
  const auto flags = std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{"database"});
  const auto arguments = std::make_shared<RevokeArguments>();
  command->add_option("--principal", arguments->principal, "all tokens of this sub that were issued until now");
  command->add_option("--token-id", arguments->token_id, "the token with this jti");
  command->add_option("--issuer", arguments->issuer, "only tokens with this iss; else of any");
  command->add_option("--for", arguments->lasting, "at least as long as the tokens live [9600h]");
  command->callback([flags, arguments] { revoke(flags->read(), *arguments); });
}

}  // namespace

void add_access_commands(CLI::App& app) { add_revoke(app); }

}  // namespace viewgate::gateway
