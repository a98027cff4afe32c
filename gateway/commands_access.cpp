// `viewgate revoke | grants`: who may see nothing more from now on; and what the gateway itself must be allowed to do.
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "ledger/access_store.hpp"

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

// What `viewgate serve` needs of the database, as statements in an order that works; before it what the role was granted in our
// schema and does not need (an earlier version, or --revocations). On captured tables nothing is revoked: they are the
// application's. Functions that are an administrator's (they change what is captured, seen or kept) are left out; a new one of
// ours is the gateway's unless it is listed here.
constexpr const char* grants_sql = R"(
with role as (select oid from pg_roles where rolname = $1::text),
wanted(place, kind, object, name, privilege) as (
  select 1, 'schema ', 'viewgate'::regnamespace::oid, 'viewgate', 'usage'
  union all select 2, '', c.oid, c.oid::regclass::text, 'select'
    from pg_class c where c.relnamespace = 'viewgate'::regnamespace and c.relkind in ('r', 'v')
  union all select 2, '', c.oid, c.oid::regclass::text, privilege
    from (values ('arming', 'insert'), ('changes', 'insert, delete'), ('clients', 'insert, update'),
                 ('commits', 'insert, update, delete'), ('horizons', 'insert, update'), ('keys', 'insert'),
                 ('looks', 'insert, update, delete'), ('pruned_versions', 'insert, delete'),
                 ('records', 'insert, update, delete'), ('tickets', 'insert, update, delete'),
                 ('waiting', 'insert, delete')) t(name, rights)
    join pg_class c on c.relnamespace = 'viewgate'::regnamespace and c.relname = t.name,
    regexp_split_to_table(t.rights, ', ') privilege
  union all select 3, 'sequence ', c.oid, c.oid::regclass::text, privilege
    from pg_class c, unnest(array['usage', 'select', 'update']) privilege
    where c.relnamespace = 'viewgate'::regnamespace and c.relkind = 'S'
  union all select 4, 'function ', p.oid, p.oid::regprocedure::text, 'execute'
    from pg_proc p where p.pronamespace = 'viewgate'::regnamespace and p.prorettype <> 'trigger'::regtype
      and p.proname not in ('append', 'apply_model', 'capture', 'clear_retention', 'erase_record', 'erase_space',
                            'install_capture_function', 'prune', 'set_retention', 'uncapture')
      and (p.proname <> 'revoke' or $2::bool)
  union all select 5, 'schema ', n.oid, quote_ident(n.nspname), 'usage'
    from pg_namespace n where n.oid in (select c.relnamespace from viewgate.captures k join pg_class c on c.oid = k.relation)
  union all select 6, '', k.relation::oid, k.relation::regclass::text, 'select' from viewgate.captures k
),
held(kind, object, name, privilege) as (
  select 'schema ', n.oid, 'viewgate', lower(a.privilege_type) from pg_namespace n, aclexplode(n.nspacl) a, role
    where n.oid = 'viewgate'::regnamespace and a.grantee = role.oid and a.grantee <> n.nspowner
  union all select case c.relkind when 'S' then 'sequence ' else '' end, c.oid, c.oid::regclass::text, lower(a.privilege_type)
    from pg_class c, aclexplode(c.relacl) a, role
    where c.relnamespace = 'viewgate'::regnamespace and a.grantee = role.oid and a.grantee <> c.relowner
  union all select 'function ', p.oid, p.oid::regprocedure::text, 'execute' from pg_proc p, aclexplode(p.proacl) a, role
    where p.pronamespace = 'viewgate'::regnamespace and a.grantee = role.oid and a.grantee <> p.proowner
),
statements(place, verb, kind, name, privileges) as (
  select 0, 'revoke', kind, name, string_agg(privilege, ', ' order by privilege) from held
    where (kind, object, privilege) not in (select kind, object, privilege from wanted) group by kind, object, name
  union all
  select place, 'grant', kind, name, string_agg(privilege, ', ' order by privilege) from wanted group by place, kind, object, name
)
select format('%s %s on %s%s %s %I;', verb, privileges, kind, name, case verb when 'grant' then 'to' else 'from' end, $1::text)
from statements order by place, name)";

struct GrantsArguments {
  std::string role;
  bool revocations = false;
};

void print_grants(const Config& config, const GrantsArguments& arguments) {
  CommandDatabase database(config.database);
  const auto statements =
      database.exec(grants_sql, ledger::pg::Params{arguments.role, arguments.revocations ? "true" : "false"});
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
