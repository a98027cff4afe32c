// `viewgate prune | retention | erase`: how long history is kept, and what is taken out of it.
#include <charconv>
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "projection/json_text.hpp"

namespace viewgate::gateway {
namespace {

using ledger::pg::Params;
using Text = std::shared_ptr<std::string>;

const std::vector<std::string_view> database_keys{"database"};

std::optional<std::string> given(const std::string& value) {
  return value.empty() ? std::nullopt : std::optional<std::string>(value);
}

/// What is wrong with a number of commits; empty: nothing is.
std::string commits_fault(const std::string& text) {
  std::int64_t commits = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), commits);
  if (problem == std::errc() && end == text.data() + text.size() && commits >= 0) return "";
  return "must be a number of commits, 0 or more, not " + text;
}

/// Said here, since append would name a change that nobody has written.
std::string key_fault(const std::string& text) {
  const auto key = projection::parse_json_leniently(text);
  if (key && key->kind == projection::Json::Kind::array && !key->items.empty()) return "";
  return "must be the JSON array of the key's columns, for example '[7]', not " + text;
}

/// What an age is, PostgreSQL says: "36 hours", "7d", "P1M".
constexpr const char* age_help = "as PostgreSQL writes intervals, for example '36 hours' or '7 days'";

void delete_unreadable(CommandDatabase& database, const std::string& space) {
  Params params;
  params.emplace_back(space);
  while (database.exec("select viewgate.prune_batch($1, 1000)", params)[0].integer(0) > 0) {
  }
}

/// The horizon is raised in one transaction, the rows go in later ones, so that a reader that misses a commit also sees
/// the horizon that explains it.
void prune_before(CommandDatabase& database, const std::string& space, const std::string& kept) {
  Params params;
  params.emplace_back(space);
  params.emplace_back(kept);
  const auto horizon = database.exec("select viewgate.prune_before($1, $2::bigint)", std::move(params));
  delete_unreadable(database, space);
  std::cout << "space " << space << " is kept from commit " << horizon[0].text(0) << "\n";
}

struct PruneArguments {
  std::string space;
  std::string keep;
  std::string age;
};

void prune(const Config& config, const PruneArguments& wanted) {
  CommandDatabase database(config.database);
  if (!wanted.space.empty()) database.need_commits(wanted.space);
  Params params;
  params.emplace_back(given(wanted.space));
  std::string sql;
  if (wanted.keep.empty() && wanted.age.empty()) {
    sql = "select p.name, p.kept from viewgate.prunable('', 2147483647) p where $1::text is null or p.name = $1";
  } else {
    params.emplace_back(given(wanted.keep));
    params.emplace_back(given(wanted.age));
    sql =
        "select h.name, viewgate.first_kept(h.space, $2::bigint, $3::interval) from viewgate.horizons h "
        "where $1::text is null or h.name = $1 order by h.space";
  }
  const auto spaces = database.exec(std::move(sql), std::move(params));
  for (int i = 0; i < spaces.size(); ++i) prune_before(database, spaces[i].string(0), spaces[i].string(1));
}

void add_prune(CLI::App& app) {
  auto* command =
      app.add_subcommand("prune", "forget old commits now; without limits, those that the rules of retention let go");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  const auto wanted = std::make_shared<PruneArguments>();
  command->add_option("--space", wanted->space, "only this one; else all");
  command->add_option("--keep", wanted->keep, "how many commits stay in each space")->check(commits_fault);
  command->add_option("--age", wanted->age, std::string("how long commits stay; ") + age_help);
  command->callback([flags, wanted] { prune(flags->read(), *wanted); });
}

void show_retention(CommandDatabase& database) {
  const auto rules = database.exec(
      "select r.name, coalesce(r.commits::text, 'any number of'), coalesce('for ' || r.age::text, 'for ever') "
      "from viewgate.retention r order by r.space <> '#default', r.space",
      Params());
  for (int i = 0; i < rules.size(); ++i) {
    const auto row = rules[i];
    std::cout << (row.is_null(0) ? "every other space" : "space " + row.string(0)) << ": " << row.text(1)
              << " commits, kept " << row.text(2) << "\n";
  }
  if (rules.empty()) std::cout << "no rule: every space keeps all its commits\n";
}

void add_retention(CLI::App& app) {
  auto* retention = app.add_subcommand("retention", "how long spaces keep their commits: show, set, clear");
  retention->require_subcommand(1);
  for (const std::string verb : {"show", "set", "clear"}) {
    auto* command =
        retention->add_subcommand(verb, verb == "show"  ? "print the rules"
                                        : verb == "set" ? "keep so many commits, or for so long; both: what "
                                                          "either lets go goes"
                                                        : "take a rule back");
    const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
    const auto wanted = std::make_shared<PruneArguments>();
    if (verb != "show") command->add_option("--space", wanted->space, "only this one; else all that have no rule");
    if (verb == "set") {
      command->add_option("--commits", wanted->keep, "how many stay; else any number")->check(commits_fault);
      command->add_option("--age", wanted->age, std::string("how long they stay; else for ever; ") + age_help);
    }
    command->callback([verb, flags, wanted] {
      if (verb == "set" && wanted->keep.empty() && wanted->age.empty()) {
        throw Stop(ExitStatus::usage,
                   "retention set needs --commits, --age, or both; `viewgate retention clear` takes a rule back");
      }
      CommandDatabase database(flags->read().database);
      Params params;
      params.emplace_back(given(wanted->space));
      if (verb == "set") {
        params.emplace_back(given(wanted->keep));
        params.emplace_back(given(wanted->age));
        database.exec("select viewgate.set_retention($1, $2::bigint, $3::interval)", std::move(params));
      } else if (verb == "clear") {
        database.exec("select viewgate.clear_retention($1)", std::move(params));
      }
      show_retention(database);
    });
  }
}

struct EraseArguments {
  std::string space;
  std::string collection;
  std::string key;
};

/// What an update or a delete leaves behind in the tables' files goes with VACUUM, not with the transaction.
void vacuum(CommandDatabase& database) {
  for (const char* table : {"viewgate.changes", "viewgate.commits", "viewgate.records"}) {
    database.exec(std::string("vacuum ") + table, Params());
  }
}

void erase_record(CommandDatabase& database, const EraseArguments& wanted) {
  Params params{wanted.space, wanted.collection, wanted.key};
  // A managed record that is still there is deleted first, in a commit of its own, so that who shows it is told.
  database.exec(
      "select viewgate.append($1, jsonb_build_array(jsonb_build_object('collection', $2::text, 'key', $3::jsonb, "
      "'delete', true))) where position('.' in $2) = 0",
      params);
  const auto erased = database.exec("select viewgate.erase_record($1, $2, $3)", std::move(params));
  vacuum(database);
  std::cout << "erased the values of " << erased[0].text(0) << " changes of " << wanted.collection << " " << wanted.key
            << " in space " << wanted.space << "\n";
}

void erase_space(CommandDatabase& database, const std::string& space) {
  Params params;
  params.emplace_back(space);
  const auto head = database.exec("select viewgate.erase_space($1)", std::move(params));
  delete_unreadable(database, space);
  vacuum(database);
  std::cout << "erased space " << space << " up to commit " << head[0].text(0) << "\n";
}

void add_erase(CLI::App& app) {
  auto* command = app.add_subcommand("erase", "take a record's values, or a whole space, out of the ledger for good");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  const auto wanted = std::make_shared<EraseArguments>();
  command->add_option("--space", wanted->space, "the space")->required();
  auto* collection =
      command->add_option("--collection", wanted->collection, "of the record; else the whole space goes");
  auto* key =
      command->add_option("--key", wanted->key, "of the record, as a JSON array, for example '[7]'")->check(key_fault);
  collection->needs(key);
  key->needs(collection);
  command->callback([flags, wanted] {
    CommandDatabase database(flags->read().database);
    database.need_commits(wanted->space);
    if (wanted->collection.empty()) return erase_space(database, wanted->space);
    erase_record(database, *wanted);
  });
}

}  // namespace

void add_history_commands(CLI::App& app) {
  add_prune(app);
  add_retention(app);
  add_erase(app);
}

}  // namespace viewgate::gateway
