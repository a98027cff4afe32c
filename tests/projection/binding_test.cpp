// Goal: a parameter that is wrong is named; what means the same binds to the same group and the same cursor bytes; who is
// admitted is decided by policies alone, and by nobody where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "projection/fixture.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ::testing::HasSubstr;

/// One parameter of the type, compared with a column of that type.
ViewPtr view_with(std::string_view type) {
  const std::string text = "create table t (id int primary key, c " + std::string(type) +
                           "); create view v as select id from t where c = params.p;" +
                           "create view a as select id from t where c = any(params.p); create policy p on v using "
                           "(true); create policy q on a using (true)";
  return parse_or_throw(text)->view("v");
}

Binding bound(const ViewPtr& view, std::string_view params, std::string_view claims = "{}",
              std::string_view space = "s1") {
  return projection::bind(view, params, claims, space).value();
}

struct Refusal {
  const char* type;
  const char* params;
  errc code;
  const char* detail;
};

// faults.md 36, at the level of projection: the error names the parameter.
TEST(Binding, row_36_an_unknown_missing_or_wrong_parameter_is_named) {
  for (const Refusal& each : std::initializer_list<Refusal>{
           {"int", "{}", errc::missing_parameter, "the view v needs the parameter p, integer"},
           {"int", R"({"p":1,"q":2})", errc::unknown_parameter, "the view v has no parameter q; it has p"},
           {"int", R"({"P":1})", errc::unknown_parameter, "the view v has no parameter P; it has p"},
           {"int", R"({"p":"1"})", errc::invalid_parameter, "the parameter p is a string, not integer"},
           {"int", R"({"p":1.5})", errc::invalid_parameter, "the parameter p is a number, not integer"},
           {"int", R"({"p":2147483648})", errc::invalid_parameter,
            "the parameter p is a number out of the range of integer"},
           {"int", R"({"p":1e400})", errc::invalid_parameter,
            "the parameter p is a number out of the range of integer"},
           {"int", R"({"p":[1]})", errc::invalid_parameter, "the parameter p is an array, not integer"},
           {"int", R"({"p":true})", errc::invalid_parameter, "the parameter p is a boolean, not integer"},
           {"int8", R"({"p":"x"})", errc::invalid_parameter, "a whole number, or a string of one beyond 2^53"},
           {"text", R"({"p":1})", errc::invalid_parameter, "the parameter p is a number, not text (a string)"},
           {"text", R"({"p":"\u0000"})", errc::invalid_parameter, "the parameter p is a string, not text"},
           {"bool", R"({"p":"true"})", errc::invalid_parameter, "the parameter p is a string, not boolean"},
           {"uuid", R"({"p":"x"})", errc::invalid_parameter, "the parameter p is a string, not uuid (a string)"},
           {"timestamptz", R"({"p":"now"})", errc::invalid_parameter, "not timestamp with time zone"},
           {"numeric", R"({"p":{}})", errc::invalid_parameter, "the parameter p is an object, not numeric"},
           {"int", "[]", errc::invalid_parameters, "not one JSON object"},
           {"int", R"({"p":1,"p":1})", errc::invalid_parameters, "not one JSON object with different names"},
           {"int", "", errc::invalid_parameters, "not one JSON object"}}) {
    const auto result = projection::bind(view_with(each.type), each.params, "{}", "s1");
    ASSERT_FALSE(result) << each.type << " " << each.params;
    EXPECT_EQ(result.error().code, each.code) << each.params;
    EXPECT_THAT(result.error().detail, HasSubstr(each.detail)) << each.params;
  }
  const auto unknown = projection::bind(*parse_or_throw(demo_model), "nothing", "{}", "{}", "1");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, errc::unknown_view);
  EXPECT_EQ(unknown.error().name, "nothing");
}

struct Same {
  const char* type;
  const char* one;
  const char* other;
};

// faults.md 41: parameters of one meaning in another order or spelling.
TEST(Binding, row_41_the_same_meaning_binds_to_the_same_group) {
  for (const Same& each : std::initializer_list<Same>{
           {"int", R"({"p":1})", R"( { "p" : 1.0 } )"},
           {"int", R"({"p":0})", R"({"p":-0})"},
           {"int", R"({"p":100})", R"({"p":1e2})"},
           {"int8", R"({"p":9007199254740993})", R"({"p":"9007199254740993"})"},
           {"numeric", R"({"p":1.0})", R"({"p":1.00})"},
           {"numeric", R"({"p":1.5})", R"({"p":"15e-1"})"},
           {"numeric", R"({"p":-0.0})", R"({"p":0})"},
           {"numeric", R"({"p":"nan"})", R"({"p":"NaN"})"},
           {"text", R"({"p":"é"})", R"({"p":"\u00e9"})"},
           {"uuid", R"({"p":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"})", R"({"p":"a0eebc999c0b4ef8bb6d6bb9bd380a11"})"},
           {"timestamptz", R"({"p":"2024-01-01T00:00:00Z"})", R"({"p":"2024-01-01 05:30:00+05:30"})"}}) {
    const ViewPtr view = view_with(each.type);
    const Binding one = bound(view, each.one);
    const Binding other = bound(view, each.other);
    EXPECT_EQ(one.parameters, other.parameters) << each.one << " " << each.other;
    EXPECT_EQ(one.group->id(), other.group->id()) << each.one << " " << each.other;
  }
  const ViewPtr watch = parse_or_throw(demo_model)->view("watch");
  const std::string claims = R"({"sub":"ann","digit":3})";
  EXPECT_EQ(bound(watch, R"({"low":-5,"high":5})", claims).group->id(),
            bound(watch, R"({"high":5,"low":-5})", claims).group->id());
  EXPECT_EQ(bound(watch, R"({"low":-5,"high":5})", claims).parameters,
            bound(watch, R"({"high":5,"low":-5})", claims).parameters);
}

TEST(Binding, another_meaning_is_another_group) {
  const ViewPtr watch = parse_or_throw(demo_model)->view("watch");
  const std::string ann = R"({"sub":"ann","digit":3})";
  const Binding first = bound(watch, R"({"low":-5,"high":5})", ann, "1");
  EXPECT_NE(first.group->id(), bound(watch, R"({"low":-5,"high":6})", ann, "1").group->id());
  EXPECT_NE(first.group->id(), bound(watch, R"({"low":-5,"high":5})", ann, "2").group->id());
  EXPECT_NE(first.group->id(), bound(watch, R"({"low":-5,"high":5})", R"({"sub":"ann","digit":4})", "1").group->id());
  EXPECT_NE(first.claims, bound(watch, R"({"low":-5,"high":5})", R"({"sub":"bob","digit":3})", "1").claims);
  EXPECT_EQ(first.group->id(),
            bound(watch, R"({"low":-5,"high":5})", R"({"sub":"bob","digit":"3","other":1})", "1").group->id())
      << "the bound predicate is the same, whoever asks";
  EXPECT_EQ(first.claims, bound(watch, R"({"low":-5,"high":5})", R"({"x":[],"digit":3,"sub":"ann"})", "1").claims)
      << "claims that the view does not use do not bind";
}

TEST(Binding, arrays_are_sets) {
  const ViewPtr view = parse_or_throw(
                           "create table t (id int primary key, c text); create view v as select id from t "
                           "where c = any(params.list) or c = any(claims.roles); create policy p on v using "
                           "(space.name = any(claims.spaces))")
                           ->view("v");
  const Binding one = bound(view, R"({"list":["a","b","a"]})", R"({"roles":["x","y"],"spaces":["s1","s2"]})");
  const Binding other = bound(view, R"({"list":["b","a"]})", R"({"roles":["y","x"],"spaces":["s2","s1"]})");
  EXPECT_EQ(one.group->id(), other.group->id());
  EXPECT_EQ(one.parameters, other.parameters);
  EXPECT_EQ(one.claims, other.claims);
  EXPECT_TRUE(one.admitted);
  EXPECT_EQ(decide(*one.group, R"({"id": 1, "c": "y"})"), true);
  EXPECT_EQ(decide(*one.group, R"({"id": 1, "c": "z"})"), false);
  EXPECT_EQ(decide(*bound(view, R"({"list":[]})", R"({"roles":[]})").group, R"({"id": 1, "c": "z"})"), false);
}

struct Admission {
  const char* policy;
  const char* claims;
  bool admitted;
};

TEST(Binding, policies_admit_and_nothing_else_does) {
  const std::string view = "create table t (id int primary key); create view v as select id from t;";
  for (const Admission& each : std::initializer_list<Admission>{
           {"", R"({"sub":"ann"})", false},
           {"create policy p on v using (true)", "{}", true},
           {"create policy p on v using (false)", "{}", false},
           {"create policy p on v using (claims.sub is not null)", "{}", false},
           {"create policy p on v using (claims.sub is not null)", R"({"sub":null})", false},
           {"create policy p on v using (claims.sub is not null)", R"({"sub":["odd"]})", true},
           {"create policy p on v using (claims.role = 'admin')", R"({"role":"admin"})", true},
           {"create policy p on v using (claims.role = 'admin')", R"({"role":["admin"]})", false},
           {"create policy p on v using (claims.role <> 'guest')", "{}", false},
           {"create policy p on v using (not (claims.role = 'guest'))", R"({"role":{"name":"x"}})", false},
           {"create policy p on v using ('admin' = any(claims.roles))", R"({"roles":["user","admin"]})", true},
           {"create policy p on v using ('admin' = any(claims.roles))", R"({"roles":"admin"})", false},
           {"create policy p on v using (not ('guest' = any(claims.roles)))", R"({"roles":"guest"})", false},
           {"create policy p on v using (space.name = any(claims.spaces))", R"({"spaces":["s1"]})", true},
           {"create policy p on v using (space.name = any(claims.spaces))", R"({"spaces":["s2",["s1"]]})", false},
           {"create policy p on v using (claims.level::int >= 3)", R"({"level":3})", true},
           {"create policy p on v using (claims.level::int >= 3)", R"({"level":"4"})", true},
           {"create policy p on v using (claims.level::int >= 3)", R"({"level":"high"})", false},
           {"create policy p on v using (claims.level::int >= 3)", R"({"level":3.5})", false},
           {"create policy p on v using (claims.admin)", R"({"admin":true})", true},
           {"create policy p on v using (claims.a = 'x'); create policy q on v using (claims.b = 'x')", R"({"b":"x"})",
            true},
           {"create policy p on v using (claims.level::int = 1); create policy q on v using (true)",
            R"({"level":"bad"})", true},
           {"create policy p on t using (true)", "{}", false}}) {
    const Binding binding = bound(parse_or_throw(view + each.policy)->view("v"), "{}", each.claims);
    EXPECT_EQ(binding.admitted, each.admitted) << each.policy << " " << each.claims;
    EXPECT_EQ(binding.refusal.empty(), each.admitted);
  }
  EXPECT_EQ(bound(parse_or_throw(view)->view("v"), "{}").refusal, "no policy admits anybody to the view v");
}

TEST(Binding, a_policy_on_the_table_limits_every_view_over_it) {
  const ModelPtr model = parse_or_throw(
      "create table t (id int primary key, owner text, open bool); create view mine as select id from t where open;"
      "create view every as select id from t; create policy own on t using (owner = claims.sub);"
      "create policy boss on t using (claims.boss); create policy p on mine using (true); create policy q on every "
      "using (true)");
  const Binding ann = bound(model->view("mine"), "{}", R"({"sub":"ann"})");
  EXPECT_EQ(decide(*ann.group, R"({"id": 1, "owner": "ann", "open": true})"), true);
  EXPECT_EQ(decide(*ann.group, R"({"id": 1, "owner": "ann", "open": false})"), false);
  EXPECT_EQ(decide(*ann.group, R"({"id": 1, "owner": "bob", "open": true})"), false);
  EXPECT_EQ(decide(*bound(model->view("every"), "{}", R"({"sub":"ann"})").group, R"({"id": 1, "owner": "bob"})"),
            false);
  EXPECT_EQ(
      decide(*bound(model->view("every"), "{}", R"({"sub":"ann","boss":true})").group, R"({"id": 1, "owner": "bob"})"),
      true);
  EXPECT_EQ(decide(*bound(model->view("every"), "{}").group, R"({"id": 1, "owner": null})"), false);
}

TEST(Binding, null_parameters_are_sql_null) {
  const ViewPtr view = parse_or_throw(
                           "create table t (id int primary key, c int); create view v as select id from t "
                           "where params.c is null or c = params.c; create policy p on v using (true)")
                           ->view("v");
  EXPECT_EQ(decide(*bound(view, R"({"c":null})").group, R"({"id": 1, "c": 5})"), true);
  EXPECT_EQ(decide(*bound(view, R"({"c":5})").group, R"({"id": 1, "c": 5})"), true);
  EXPECT_EQ(decide(*bound(view, R"({"c":6})").group, R"({"id": 1, "c": 5})"), false);
}

TEST(Binding, what_folds_to_one_question_is_one_group) {
  const ModelPtr model = parse_or_throw(
      "create table t (id int primary key, c text); create view v as select id from t where c = claims.team or "
      "claims.boss;"
      "create policy p on v using (true)");
  const ViewPtr view = model->view("v");
  EXPECT_EQ(bound(view, "{}", R"({"boss":true,"team":"a"})").group->id(),
            bound(view, "{}", R"({"boss":true,"team":"b"})").group->id());
  EXPECT_NE(bound(view, "{}", R"({"boss":false,"team":"a"})").group->id(),
            bound(view, "{}", R"({"boss":false,"team":"b"})").group->id());
}

// A stored cursor and the channel numbers of other nodes rest on these bytes: they change with version_of_meaning only.
TEST(Binding, identities_are_the_same_in_every_build) {
  const ViewPtr watch = parse_or_throw(demo_model)->view("watch");
  const Binding binding = bound(watch, R"({"low":-5,"high":5})", R"({"sub":"ann","digit":3})", "1");
  EXPECT_EQ(binding.parameters, "4:high7:integer2:i53:low7:integer3:i-5");
  EXPECT_EQ(binding.claims, "5:digit6:number1:03:3e03:sub6:string1:03:ann");
  EXPECT_EQ(watch->version.hex(), "eeb14243c5959f0bb8aad837be45c081");
  EXPECT_EQ(binding.group->id().hex(), "5218e06e41255a940097da94597fe7ff");
}

}  // namespace
}  // namespace viewgate::testing
