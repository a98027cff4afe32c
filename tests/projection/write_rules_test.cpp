// Who may write what, in the pure: the form at the door, and the policies on the record as it is and as it would be.
#include <gmock/gmock.h>

#include "projection/fixture.hpp"
#include "projection/projector.hpp"
#include "projection/write_rules.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ledger::Mutation;
using ledger::MutationKind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view model_text = R"(
create table issues (id uuid primary key, title text not null, status text, assignee text, priority int4, amount numeric,
                     doc jsonb, starts date, ends date)
  with (conflict_group_schedule = 'starts, ends', conflict_group_title = 'title');
create policy seen on issues for select using (status is distinct from 'secret');
create policy write on issues for insert with check (claims.role = 'writer' and assignee = claims.sub);
create policy change on issues for update using (assignee = claims.sub) with check (status <> 'locked');
create policy removal on issues for delete using (claims.role = 'admin' or space.name = claims.home);

create table pairs (a text, b int8, n int4, primary key (b, a));
create policy team on pairs using (claims.role = 'writer');

create table silent (id int4 primary key, raw bytea);
create policy seen on silent using (true);

create table accounts (like public.pgbench_accounts) with (space = 'bid');
create policy mine on accounts using (aid > 0);
)";

const std::string id = "7f0c0ad2-9d2a-4f0e-8a3b-2b3d6c1e4f55";
const std::string key = "[\"" + id + "\"]";

class WriteRules : public ::testing::Test {
 protected:
  /// What the door makes of it: "key value", or the refusal.
  std::string at_the_door(Mutation mutation, const ValueLimits& limits = {}) const {
    std::vector<Mutation> mutations{std::move(mutation)};
    if (const auto refusal = make_canonical(*model_, mutations, limits)) {
      return (refusal->kind == DoorRefusal::Kind::not_writable ? "not_writable " : "invalid_value ") + refusal->text;
    }
    return mutations[0].key + " " + mutations[0].value;
  }

  /// "reason: detail", or "as found".
  std::string judged(const std::string& claims, MutationKind kind, const std::optional<std::string>& before,
                     const std::optional<std::string>& after, const std::string& collection = "issues") const {
    ledger::MutationRequest request;
    request.mutations = {{kind, collection, key, {}, {}}};
    const CallerRules rules(model_, claims, "s1", request.mutations);
    const std::optional<ledger::Rejection> found;
    const auto rejection = rules.judge({request, request.mutations[0], key, before, after, found});
    return rejection ? std::string(name(rejection->reason)) + ": " + rejection->detail : "as found";
  }

  static std::string issue(const std::string& assignee, const std::string& status = "open") {
    return R"({"id": ")" + id + R"(", "title": "t", "status": ")" + status + R"(", "assignee": ")" + assignee + "\"}";
  }

  ModelPtr model_ = parse_or_throw(model_text);
};

const std::string writer = R"({"sub":"ann","role":"writer"})";

TEST_F(WriteRules, a_record_gets_every_column_in_the_order_and_the_form_of_jsonb) {
  EXPECT_EQ(
      at_the_door({MutationKind::create,
                   "issues",
                   "[ \"7F0C0AD29D2A4F0E8A3B2B3D6C1E4F55\" ]",
                   R"({"title":"caf\u00e9","amount":"1.10","doc":{"b":1,"a":[1e2]},"ends":"2024-03-01"})",
                   {}}),
      key + R"( {"id": ")" + id +
          R"(", "doc": {"a": [100], "b": 1}, "ends": "2024-03-01", "title": "café", "amount": 1.10, "starts": null, )"
          R"("status": null, "assignee": null, "priority": null})");
  EXPECT_EQ(at_the_door({MutationKind::update, "issues", key, R"({"priority":5.0,"title":"x"})", {}}),
            key + R"( {"title": "x", "priority": 5})");
  EXPECT_EQ(at_the_door({MutationKind::remove, "issues", key, "", {}}), key + " ");
  EXPECT_EQ(at_the_door({MutationKind::put, "pairs", R"([7,"x"])", R"({"b":"7","n":1})", {}}),
            R"([7, "x"] {"a": "x", "b": 7, "n": 1})");
}

TEST_F(WriteRules, row_34_what_is_malformed_is_refused_by_its_place) {
  const auto put = [&](const std::string& record) {
    return at_the_door({MutationKind::put, "issues", key, record, {}});
  };
  EXPECT_EQ(put(R"({"colour":1,"title":"x"})"), "invalid_value mutations[0].record.colour: is no column of issues");
  EXPECT_EQ(put("{}"), "invalid_value mutations[0].record.title: must not be null");
  EXPECT_EQ(put(R"({"title":null})"), "invalid_value mutations[0].record.title: must not be null");
  EXPECT_THAT(put(R"({"title":"x","title":"y"})"),
              StartsWith("invalid_value mutations[0].record: is not JSON that a column"));
  EXPECT_THAT(put(R"({"title":"\ud800"})"), StartsWith("invalid_value mutations[0].record: is not JSON that a column"));
  EXPECT_EQ(put(R"({"title":"\u0000"})"), "invalid_value mutations[0].record.title: must not hold U+0000");
  EXPECT_EQ(put(R"({"title":"x","ends":"soon"})"),
            "invalid_value mutations[0].record.ends: must be a date, as a string");
  EXPECT_THAT(put(R"({"title":"x","id":"00000000-0000-0000-0000-000000000000"})"),
              StartsWith("invalid_value mutations[0].record.id: is not what the key says"));
  EXPECT_EQ(at_the_door({MutationKind::update, "issues", key, R"({"title":null})", {}}),
            "invalid_value mutations[0].changed.title: must not be null");
  EXPECT_EQ(at_the_door({MutationKind::remove, "issues", "[]", "", {}}),
            "invalid_value mutations[0].key: must be an array of id");
  EXPECT_EQ(at_the_door({MutationKind::remove, "pairs", R"(["x",7])", "", {}}),
            "invalid_value mutations[0].key[0] (b): must be a whole number of 64 bits, as a number or a string");
  EXPECT_EQ(at_the_door({MutationKind::remove, "pairs", R"([7,null])", "", {}}),
            "invalid_value mutations[0].key[1] (a): must not be null");
  EXPECT_EQ(at_the_door({MutationKind::remove, "pairs", "[7,\"" + std::string(1000, 'x') + "\"]", "", {}}),
            "invalid_value mutations[0].key: is longer than 1000 bytes");
  EXPECT_EQ(at_the_door({MutationKind::remove, "issues", key, "", {{"colours", ledger::Sequence{1}}}}),
            "invalid_value mutations[0].bases.colours: is no conflict group of issues");
  ValueLimits small;
  small.record_bytes = 100;
  EXPECT_EQ(at_the_door({MutationKind::put, "pairs", R"([7,"x"])", R"({"n":1})", {}}, small),
            R"([7, "x"] {"a": "x", "b": 7, "n": 1})");
  EXPECT_THAT(at_the_door({MutationKind::put, "issues", key, R"({"title":"x"})", {}}, small),
              HasSubstr("larger than 100 bytes"));
}

TEST_F(WriteRules, a_table_that_no_policy_opens_for_writing_is_not_writable) {
  for (const std::string collection : {"accounts", "public.pgbench_accounts", "silent", "nothing", ""}) {
    EXPECT_EQ(at_the_door({MutationKind::remove, collection, "[1]", "", {}}),
              "not_writable mutations[0].collection: is not one that mutations write")
        << collection;
    EXPECT_EQ(judged(writer, MutationKind::remove, std::nullopt, std::nullopt, collection),
              "not_writable: the collection is not one that mutations write");
  }
}

TEST_F(WriteRules, a_new_record_is_checked) {
  EXPECT_EQ(judged(writer, MutationKind::create, std::nullopt, issue("ann")), "as found");
  EXPECT_THAT(judged(writer, MutationKind::create, std::nullopt, issue("bob")), StartsWith("forbidden"));
  EXPECT_THAT(judged(R"({"sub":"ann"})", MutationKind::create, std::nullopt, issue("ann")), StartsWith("forbidden"));
  EXPECT_THAT(judged("{}", MutationKind::put, std::nullopt, issue("ann")), StartsWith("forbidden"));
  EXPECT_THAT(judged("not claims", MutationKind::create, std::nullopt, issue("ann")), StartsWith("forbidden"));
}

TEST_F(WriteRules, an_update_is_checked_on_the_old_record_and_on_the_new_one) {
  EXPECT_EQ(judged(writer, MutationKind::update, issue("ann"), issue("bob")), "as found");
  EXPECT_THAT(judged(writer, MutationKind::update, issue("ann"), issue("ann", "locked")), StartsWith("forbidden"));
  EXPECT_EQ(judged(writer, MutationKind::put, issue("ann"), issue("ann", "done")), "as found");
  EXPECT_THAT(judged(writer, MutationKind::put, issue("bob"), issue("ann")), StartsWith("forbidden"));
}

TEST_F(WriteRules, I7_a_record_that_may_not_be_touched_looks_like_one_that_is_not_there) {
  // What the ledger finds where there is none.
  EXPECT_EQ(judged(writer, MutationKind::update, std::nullopt, std::nullopt), "as found");
  EXPECT_EQ(judged(writer, MutationKind::update, issue("bob"), issue("ann")), "not_found: there is no such record");
  EXPECT_EQ(judged(writer, MutationKind::update, issue("ann", "secret"), issue("ann")),
            "not_found: there is no such record");
  // Who may never do it hears the same in both cases, too.
  EXPECT_THAT(judged(writer, MutationKind::remove, std::nullopt, std::nullopt), StartsWith("forbidden"));
  EXPECT_THAT(judged(writer, MutationKind::remove, issue("ann"), std::nullopt), StartsWith("forbidden"));
  EXPECT_EQ(judged(R"({"role":"admin"})", MutationKind::remove, issue("bob"), std::nullopt), "as found");
  EXPECT_EQ(judged(R"({"home":"s1"})", MutationKind::remove, issue("bob"), std::nullopt), "as found");
  EXPECT_THAT(judged(R"({"home":"s2"})", MutationKind::remove, issue("bob"), std::nullopt), StartsWith("forbidden"));
}

TEST_F(WriteRules, row_49_a_record_that_lacks_what_the_model_asks_for_breaks_a_constraint) {
  EXPECT_EQ(judged(writer, MutationKind::update, issue("ann"), R"({"id": ")" + id + R"(", "status": "open"})"),
            "constraint: the column title must not be null");
}

TEST_F(WriteRules, a_policy_for_all_is_for_reading_and_writing) {
  const std::string pair = R"({"a": "x", "b": 7, "n": 1})";
  for (const MutationKind kind : {MutationKind::create, MutationKind::put}) {
    EXPECT_EQ(judged(writer, kind, std::nullopt, pair, "pairs"), "as found");
    EXPECT_THAT(judged("{}", kind, std::nullopt, pair, "pairs"), StartsWith("forbidden"));
  }
  EXPECT_EQ(judged(writer, MutationKind::remove, pair, std::nullopt, "pairs"), "as found");
  EXPECT_EQ(model_->tables.find("pairs")->second->policies.size(), 1U);
  EXPECT_EQ(model_->tables.find("issues")->second->policies.size(), 1U) << "those for writing limit no view";
}

TEST_F(WriteRules, one_text_is_the_same_for_what_means_the_same) {
  const auto text = [](const std::string& value, std::vector<ledger::Base> bases = {}) {
    return canonical_text({{MutationKind::put, "issues", "[ 1 ]", value, std::move(bases)}});
  };
  EXPECT_EQ(text(R"({"b":1.10,"a":"\u00e9"})"), text(R"( { "a" : "é" , "b" : 1.10 } )"));
  EXPECT_NE(text(R"({"a":1.10})"), text(R"({"a":1.1})"));
  EXPECT_EQ(text("{}", {{"x", ledger::Sequence{1}}, {"y", ledger::Sequence{2}}}),
            text("{}", {{"y", ledger::Sequence{2}}, {"x", ledger::Sequence{1}}}));
  EXPECT_NE(text("{}"), text("{}", {{"x", ledger::Sequence{1}}}));
  EXPECT_EQ(canonical_text({{MutationKind::remove, "a\"b", "[1]", "", {}}}),
            R"([{"kind":"delete","collection":"a\"b","key":[1],"bases":{}}])");
}

TEST_F(WriteRules, a_column_that_mutations_cannot_write_is_refused_by_name_where_a_policy_would_let_them) {
  const auto problem = [](const std::string& table) {
    return problems_of("create table t (" + table + "); create policy p on t for insert with check (true)");
  };
  EXPECT_THAT(problem("id int4 primary key, raw bytea"),
              HasSubstr("its column raw has the type bytea; possible are boolean"));
  EXPECT_THAT(problem("id int4 primary key, name varchar(20)"),
              HasSubstr("its column name has a type with a modifier"));
  EXPECT_THAT(problem("id numeric primary key"),
              HasSubstr("its column id is of the primary key, and values of the type numeric"));
  EXPECT_THAT(
      problems_of("create table t (like public.odd) with (space = 'space'); create policy p on t for insert with "
                  "check (true)"),
      HasSubstr("the table t is captured"));
}

TEST_F(WriteRules, an_event_names_the_conflict_groups_of_the_columns_that_its_view_shows) {
  const std::string text(model_text);
  const ModelPtr model = parse_or_throw(text +
                                        "create view all_columns as select id, title, status, starts, ends from issues;"
                                        "create view titles as select id, title from issues;");
  const auto events = [&](const std::string& view, const std::string& before, const std::string& after) {
    Projector projector;
    projector.add(projection::bind(*model, view, "{}", "{}", "s1").value().group);
    const auto part = Make::part("s1", 1,
                                 {Make::updated("issues", key, "{\"id\": \"" + id + "\"" + before + "}",
                                                "{\"id\": \"" + id + "\"" + after + "}")});
    return events_of(projector, part);
  };
  EXPECT_THAT(
      events("all_columns", R"(, "ends": "2024-01-01", "title": "a")", R"(, "ends": "2024-01-02", "title": "b")"),
      HasSubstr(R"("groups":["schedule","title"])"));
  EXPECT_THAT(events("all_columns", R"(, "status": "a")", R"(, "status": "b")"), HasSubstr(R"("groups":["record"])"));
  EXPECT_THAT(events("titles", R"(, "ends": "2024-01-01", "title": "a")", R"(, "ends": "2024-01-02", "title": "b")"),
              HasSubstr(R"("groups":["title"])"));
}

}  // namespace
}  // namespace viewgate::testing
