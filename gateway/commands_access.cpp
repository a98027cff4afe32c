// `viewgate revoke | grants`: who may see nothing more from now on; and what the gateway itself must be allowed to do.
#include <iostream>
#include <memory>

#include "gateway/admin_revocations.hpp"
#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "ledger/access_store.hpp"
#include "ledger/grants.hpp"

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
  if (*lasting > revocation_lasting_max) {
    throw Stop(ExitStatus::usage, "--for " + arguments.lasting + ": write at most 876000h (100 years)");
  }
  CommandDatabase database(config.database);
  auto statement = ledger::statement_of({arguments.principal, arguments.token_id, arguments.issuer, *lasting});
  const auto made = database.exec(std::move(statement.sql), std::move(statement.params));
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

struct GrantsArguments {
  std::string role;
  bool revocations = false;
};

void print_grants(const Config& config, const GrantsArguments& arguments) {
  CommandDatabase database(config.database);
  const auto statements =
      database.exec(ledger::grants_sql(), ledger::pg::Params{arguments.role, arguments.revocations ? "true" : "false"});
  for (int i = 0; i < statements.size(); ++i) std::cout << statements[i].text(0) << "\n";
}

void add_grants(CLI::App& app) {
  auto* command = app.add_subcommand("grants", "print the SQL that lets a role serve, and no more than that");
  const auto flags = std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{"database"});
  const auto arguments = std::make_shared<GrantsArguments>();
  command->add_option("--role", arguments->role, "the role that `viewgate serve` will connect as")->required();
  command->add_flag("--revocations", arguments->revocations, "it may also revoke: for POST /v1/revocations");
  command->callback([flags, arguments] { print_grants(flags->read(), *arguments); });
}

}  // namespace

void add_access_commands(CLI::App& app) {
  add_revoke(app);
  add_grants(app);
}

}  // namespace viewgate::gateway
