// The gateway serves under a role that has what `viewgate grants` prints, and that cannot do what an owner can.
#include <sstream>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Grants : public Row {};

/// Commits and changes that the log has of a space.
std::string rows_left(Line& line, const std::string& space) {
  return line.value(
      "select (select count(*) from viewgate.commits where space = $1) || ' ' || "
      "(select count(*) from viewgate.changes where space = $1)",
      {space});
}

TEST_F(Grants, a_gateway_serves_under_the_role_that_was_granted_what_is_printed_and_no_more) {
  Line owned(line.cluster());
  owned.gateway().process().kill();
  owned.sql("create role gateway_of_the_test login");
  const Finished printed =
      run({program("viewgate"), "grants", "--role", "gateway_of_the_test", "--database", owned.database()});
  ASSERT_EQ(printed.status, 0) << printed.output;
  EXPECT_THAT(printed.output, HasSubstr("items to gateway_of_the_test;"));
  std::istringstream statements(printed.output);
  for (std::string each; std::getline(statements, each);) owned.sql(each);

  GatewayOptions options = owned.gateway_options();
  options.database = owned.database() + " user=gateway_of_the_test";
  options.set("--prune-interval", "20ms");
  GatewayProcess gateway(options);
  const std::string space = owned.new_space();
  WsClient client(gateway.port(), owned.reader());
  const std::string cursor = client.open({.space = space}).cursor();
  owned.sql("insert into items (space, id, status) values ('" + space + "', 1, 'open')");
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[1]"));
  WsClient back(gateway.port(), owned.reader());
  EXPECT_TRUE(back.open({.space = space, .cursor = cursor}).resumed());
  EXPECT_THAT(back.next_of("commit").text, HasSubstr("[1]"));
  // What it writes for its clients, it writes under that role: from the first mutation of a space on.
  const std::string fresh = owned.new_space();
  WsClient writer(gateway.port(), owned.reader(), "desk");
  writer.mutate(fresh, 1, R"([{"kind":"create","collection":"labels","key":["a"],"record":{"colour":"red"}}])");
  EXPECT_THAT(writer.receipt_of(1).text, HasSubstr("\"applied\""));
  writer.mutate(fresh, 2, R"([{"kind":"update","collection":"labels","key":["a"],"changed":{"colour":"blue"}}])");
  EXPECT_THAT(writer.receipt_of(2).text, HasSubstr("\"applied\""));
  writer.mutate(fresh, 3, R"([{"kind":"delete","collection":"labels","key":["a"]}])");
  EXPECT_THAT(writer.receipt_of(3).text, HasSubstr("\"applied\""));
  // Pruning is the gateway's, too.
  owned.sql("select viewgate.set_retention(null, 1, null)");
  for (int id = 2; id < 5; ++id) {
    owned.sql("insert into items (space, id, status) values ('" + space + "', " + std::to_string(id) + ", 'open')");
  }
  EXPECT_TRUE(eventually([&] { return owned.value("select viewgate.retained_from($1)", {space}) == "4"; }))
      << gateway.log();
  // What is below the horizon goes, of captured tables and of managed records.
  for (const std::string& each : {space, fresh}) {
    EXPECT_TRUE(eventually([&] { return rows_left(owned, each) == "1 1"; })) << each << ": " << rows_left(owned, each);
  }
  EXPECT_EQ(gateway.log().find("permission denied"), std::string::npos) << gateway.log();
  EXPECT_EQ(gateway.log().find("housekeeping_failed"), std::string::npos) << gateway.log();

  PgSession as_gateway(options.database);
  for (const char* forbidden :
       {"insert into items (space, id) values ('s', 99)", "select viewgate.revoke(principal => 'ada')",
        "select viewgate.uncapture('items')", "select viewgate.apply_model('', '')", "delete from viewgate.revocations",
        "update viewgate.model set text = ''", "drop schema viewgate cascade", "select * from pg_authid",
        "update viewgate.captures set state = 'ok'", "delete from viewgate.captures",
        "select viewgate.erase_space('s')", "create table viewgate.mine (a int)",
        // What nodes find revocations by: moved, they miss the next ones, or none can be made.
        "select setval('viewgate.revocations_id_seq', 9000)", "select nextval('viewgate.revocations_id_seq')",
        "select setval('viewgate.change_counter', 1)", "select viewgate.tag('of-another')",
        "select viewgate.declare_conflict_groups('[]')"}) {
    EXPECT_EQ(as_gateway.refusal(forbidden), "42501") << forbidden;
  }

  // The log's own guard lets whoever erases rewrite; this role may not even then.
  as_gateway.run("set viewgate.rewriting = 'erase'");
  EXPECT_EQ(as_gateway.refusal("update viewgate.changes set kind = 'e', before = null, after = null"), "42501");
  EXPECT_EQ(as_gateway.refusal("update viewgate.commits set body = null, fields = null"), "42501");
  EXPECT_EQ(as_gateway.refusal("update viewgate.commits set stamp = stamp + 1"), "VG005")
      << "what it may lock, not change";
  as_gateway.run("reset viewgate.rewriting");
  EXPECT_EQ(as_gateway.refusal("select * from viewgate.check_captures()"), "");

  // A function that is new is in the list of those that nodes call, or here: somebody has decided.
  EXPECT_EQ(
      as_gateway.value("select string_agg(distinct p.proname, ' ' order by p.proname) from pg_proc p "
                       "where p.pronamespace = 'viewgate'::regnamespace and p.prorettype <> 'trigger'::regtype "
                       "and not has_function_privilege(p.oid, 'execute')"),
      "append append_fault apply_model capture capture_function changed_groups clear_retention "
      "declare_conflict_groups erase_record erase_space frame_of goes_on has_key_text install_capture_function "
      "is_in_table is_overtaken "
      "key_columns_of key_text present_text prune records_text revoke set_retention shape_of tag told_inside uncapture "
      "versions_of write_text");

  // Revoking over HTTP is a right that is asked for by name.
  const Finished more = run({program("viewgate"), "grants", "--role", "gateway_of_the_test", "--revocations",
                             "--database", owned.database()});
  std::istringstream with_revocations(more.output);
  for (std::string each; std::getline(with_revocations, each);) owned.sql(each);
  EXPECT_EQ(as_gateway.refusal("select viewgate.revoke(principal => 'ada')"), "");
  EXPECT_EQ(as_gateway.refusal("select setval('viewgate.revocations_id_seq', 9000)"), "42501") << "not even then";
}

TEST_F(Grants, what_a_role_was_granted_before_and_does_not_need_is_revoked) {
  Line owned(line.cluster());
  owned.sql("create role gateway_of_before login");
  const auto grant = [&](std::vector<std::string> more) {
    std::vector<std::string> all{program("viewgate"), "grants",     "--role",
                                 "gateway_of_before", "--database", owned.database()};
    all.insert(all.end(), more.begin(), more.end());
    const Finished printed = run(all);
    EXPECT_EQ(printed.status, 0) << printed.output;
    std::istringstream statements(printed.output);
    for (std::string each; std::getline(statements, each);) owned.sql(each);
    return printed.output;
  };
  EXPECT_THAT(grant({"--revocations"}), ::testing::Not(HasSubstr("revoke execute")));
  // What an earlier version gave away.
  owned.sql("grant create on schema viewgate to gateway_of_before");
  owned.sql("grant update, truncate on viewgate.changes to gateway_of_before");
  owned.sql("grant execute on function viewgate.uncapture(regclass) to gateway_of_before");
  owned.sql("grant usage, select, update on all sequences in schema viewgate to gateway_of_before");
  owned.sql("grant update on viewgate.commits to gateway_of_before");
  owned.sql("grant execute on function viewgate.tag(text, jsonb) to gateway_of_before");
  owned.sql("grant insert on items to gateway_of_before");
  const Finished judged = run({program("viewgate"), "doctor", "--database", owned.database()});
  EXPECT_THAT(judged.output, HasSubstr("warn roles: gateway_of_before has more than serving needs: "));
  PgSession as_gateway(owned.database() + " user=gateway_of_before");
  EXPECT_EQ(as_gateway.refusal("select viewgate.revoke(principal => 'ada')"), "");

  const std::string printed = grant({});
  EXPECT_THAT(
      printed,
      ::testing::AllOf(
          HasSubstr("revoke create on schema viewgate from gateway_of_before;\n"),
          HasSubstr("revoke truncate, update on viewgate.changes from gateway_of_before;\n"),
          HasSubstr("revoke update on viewgate.commits from gateway_of_before;\n"),
          HasSubstr("revoke select, update, usage on sequence viewgate.revocations_id_seq from gateway_of_before;\n"),
          HasSubstr("revoke select, update on sequence viewgate.change_counter from gateway_of_before;\n"),
          HasSubstr("revoke usage on sequence viewgate.bell from gateway_of_before;\n"),
          HasSubstr("revoke execute on function viewgate.tag(text,jsonb) from gateway_of_before;\n"),
          HasSubstr("revoke execute on function viewgate.uncapture(regclass) from gateway_of_before;\n")));
  for (const char* forbidden : {"select viewgate.revoke(principal => 'ada')", "truncate viewgate.changes",
                                "update viewgate.changes set kind = 'e'", "create table viewgate.mine (a int)",
                                "select viewgate.uncapture('items')", "update viewgate.commits set body = null",
                                "select setval('viewgate.revocations_id_seq', 1)", "select viewgate.tag('a')"}) {
    EXPECT_EQ(as_gateway.refusal(forbidden), "42501") << forbidden;
  }
  EXPECT_EQ(as_gateway.refusal("select from viewgate.commits for update"), "") << "what it needs, it has again";
  EXPECT_EQ(as_gateway.refusal("insert into items (space, id) values ('s', 99)"), "") << "the application's affair";
  EXPECT_THAT(grant({}), ::testing::Not(HasSubstr("revoke "))) << "nothing is left to be taken";
}

TEST_F(Grants, the_doctor_finds_that_role_right_and_names_what_it_lacks_or_has_beyond) {
  Line owned(line.cluster());
  owned.sql("create role gateway_of_the_doctor login");
  const Finished printed =
      run({program("viewgate"), "grants", "--role", "gateway_of_the_doctor", "--database", owned.database()});
  std::istringstream statements(printed.output);
  for (std::string each; std::getline(statements, each);) owned.sql(each);
  const auto examine = [&](const std::string& more = " user=gateway_of_the_doctor") {
    return run({program("viewgate"), "doctor", "--database", owned.database() + more});
  };
  // What the doctor says of roles, line by line: those of other tests are on the same server, not in this database.
  const auto of_roles = [](const Finished& found) {
    std::string out;
    std::istringstream lines(found.output);
    for (std::string each; std::getline(lines, each);) out += each.substr(5, 7) == "roles: " ? each + "\n" : "";
    return out;
  };
  Finished found = examine();
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_EQ(of_roles(found), "ok   roles: gateway_of_the_doctor is no owner and has all that serving needs\n");
  EXPECT_EQ(found.output.find("could not be looked at"), std::string::npos) << found.output;
  found = examine("");
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_THAT(of_roles(found), HasSubstr("ok   roles: gateway_of_the_doctor has what `viewgate grants` prints\n"));
  EXPECT_THAT(of_roles(found), ::testing::Not(HasSubstr("warn")));

  owned.sql("revoke insert on viewgate.commits from gateway_of_the_doctor");
  found = examine();
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(of_roles(found), HasSubstr("fail roles: gateway_of_the_doctor lacks insert on viewgate.commits: run what "
                                         "`viewgate grants --role gateway_of_the_doctor` prints, as "));
  owned.sql("grant insert on viewgate.commits to gateway_of_the_doctor");
  owned.sql("grant truncate on viewgate.changes to gateway_of_the_doctor");
  found = examine();
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_THAT(of_roles(found),
              HasSubstr("warn roles: gateway_of_the_doctor has more than serving needs: truncate on "
                        "viewgate.changes; what `viewgate grants --role gateway_of_the_doctor` prints"));
  // A captured table is as much a part of it as our own.
  owned.sql("revoke truncate on viewgate.changes from gateway_of_the_doctor");
  owned.sql("revoke select on items from gateway_of_the_doctor");
  EXPECT_THAT(of_roles(examine()), HasSubstr("lacks select on public.items:"));
  owned.sql("create role reader_of_the_log");
  owned.sql("grant select on viewgate.commits, viewgate.changes to reader_of_the_log");
  EXPECT_THAT(of_roles(examine("")),
              HasSubstr("warn roles: reader_of_the_log has select on viewgate.changes; select on "
                        "viewgate.commits: the log holds all values\n"));
}

TEST_F(Grants, the_doctor_finds_a_role_that_row_security_hides_rows_from_and_model_apply_warns_of_it) {
  Line owned(line.cluster());
  owned.sql("create role gateway_behind_policies login");
  const Finished printed =
      run({program("viewgate"), "grants", "--role", "gateway_behind_policies", "--database", owned.database()});
  std::istringstream statements(printed.output);
  for (std::string each; std::getline(statements, each);) owned.sql(each);
  const std::string as_role = owned.database() + " user=gateway_behind_policies";
  const auto examine = [&](const std::string& database) {
    return run({program("viewgate"), "doctor", "--database", database});
  };
  EXPECT_THAT(apply_model(items_model, owned.database()).output, ::testing::Not(HasSubstr("row security")));
  EXPECT_EQ(examine(as_role).status, 0);

  owned.sql("alter table items enable row level security");
  const Finished applied = apply_model(items_model, owned.database());
  EXPECT_EQ(applied.status, 0) << applied.output;
  EXPECT_THAT(applied.output, HasSubstr("table public.items has row security: a node must serve as"));
  const std::string says =
      " roles: row security hides rows of public.items from gateway_behind_policies, and views over that are "
      "unavailable to everybody: alter role gateway_behind_policies bypassrls\n";
  Finished found = examine(as_role);
  EXPECT_EQ(found.status, 1) << found.output;
  EXPECT_THAT(found.output, HasSubstr("fail" + says));
  // What PostgreSQL itself says of what a node does.
  PgSession reader(as_role);
  reader.run("set row_security = off");
  EXPECT_EQ(reader.refusal("select * from items"), "42501");
  found = examine(owned.database());
  EXPECT_EQ(found.status, 0) << "who asks is a superuser: " << found.output;
  EXPECT_THAT(found.output, HasSubstr("warn" + says));

  owned.sql("alter role gateway_behind_policies bypassrls");
  EXPECT_EQ(reader.refusal("select * from items"), "");
  found = examine(as_role);
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_THAT(found.output, ::testing::Not(HasSubstr("row security")));
}

TEST_F(Grants, a_space_that_cannot_be_pruned_is_told_and_keeps_no_other_from_it) {
  Line owned(line.cluster());
  const std::string bad = owned.new_space();
  const std::string good = owned.new_space();
  ASSERT_LT(bad, good) << "the one that fails has its turn first";
  owned.sql(
      "create function fail_to_prune() returns trigger language plpgsql as "
      "$$ begin raise exception 'nobody deletes this'; end $$");
  owned.sql("create trigger fail before delete on viewgate.changes for each row when (old.space = '" + bad +
            "') execute function fail_to_prune()");
  for (const std::string& space : {bad, good}) {
    for (int i = 0; i < 3; ++i) {
      owned.sql("insert into items (space, id, status) values ('" + space + "', nextval('items_id'), 'open')");
    }
    owned.settled_head(space);
  }
  GatewayOptions options = owned.gateway_options();
  options.set("--prune-interval", "20ms");
  GatewayProcess gateway(options);
  owned.sql("select viewgate.set_retention(null, 1, null)");
  EXPECT_TRUE(eventually([&] { return rows_left(owned, good) == "1 1"; })) << gateway.log();
  EXPECT_TRUE(eventually([&] { return gateway.log().find("housekeeping_failed") != std::string::npos; }));
  EXPECT_THAT(gateway.log(), HasSubstr("nobody deletes this"));
  EXPECT_EQ(rows_left(owned, bad), "3 3");
  // It is tried again, and succeeds once nothing is in its way.
  owned.sql("drop trigger fail on viewgate.changes");
  EXPECT_TRUE(eventually([&] { return rows_left(owned, bad) == "1 1"; })) << gateway.log();
}

}  // namespace
}  // namespace viewgate::testing
