// Requests under /v1/spaces/ and the lines of the raw log, without a socket: what is read, who may, and how it is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "gateway/admin_explain.hpp"
#include "gateway/admin_revocations.hpp"
#include "gateway/engine_world.hpp"
#include "gateway/golden_files.hpp"
#include "gateway/http_api.hpp"
#include "gateway/http_router.hpp"
#include "gateway/log_line.hpp"
#include "gateway/view_desk.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(SpaceTarget, parts_are_decoded_once_and_only_once) {
  const auto target = parse_space_target("/v1/spaces/a%2Fb%20%25/log?after=7&limit=%31%30");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->space, "a/b %");
  EXPECT_EQ(target->what, "log");
  EXPECT_THAT(target->query, ElementsAre(Pair("after", "7"), Pair("limit", "10")));
  EXPECT_EQ(parse_space_target("/v1/spaces/%2525/log")->space, "%25");
  EXPECT_EQ(parse_space_target("/v1/spaces/a/log/more")->what, "log/more");
  EXPECT_THAT(parse_space_target("/v1/spaces/a/views/v?%C3%A4=1")->query, ElementsAre(Pair("ä", "1")));
}

TEST(SpaceTarget, what_has_another_form_is_none) {
  for (const char* wrong :
       {"", "/", "/v1/spaces", "/v1/spaces/", "/v1/spaces/a", "/v1/spaces//log", "/v1/space/a/log", "/v1/spaces/%/log",
        "/v1/spaces/%4/log", "/v1/spaces/%4g/log", "/v1/spaces/%00/log", "/v1/spaces/%c3/log", "/v1/spaces/a/log?after",
        "/v1/spaces/a/log?after=1&after=2", "/v1/spaces/a/log?after=%ff"}) {
    EXPECT_FALSE(parse_space_target(wrong)) << wrong;
  }
}

TEST(AdminRefusals, a_name_that_nobody_knows_is_repeated_up_to_a_whole_character) {
  const std::string name(39, 'k');  // the next character is the fortieth byte and one more
  const auto starts = StartsWith(name + ": is not known here");
  EXPECT_THAT(std::get<std::string>(parse_explain("/v1/explain?" + name + "%C3%A4=1")), starts);
  EXPECT_THAT(std::get<std::string>(parse_revocation("{\"" + name + "ä\":\"x\"}")), starts);
}

TEST(RawLogRight, only_an_array_that_names_the_space_or_all_gives_it) {
  constexpr std::string_view claims =
      R"({"sub":"x","logs":["acme","\u00e4"],"one":"acme","yes":true,"all":["*"],"nested":[["acme"],{"acme":1},null,7],"l\u006fgs2":["b"]})";
  EXPECT_TRUE(may_read_log(claims, "logs", "acme"));
  EXPECT_TRUE(may_read_log(claims, "logs", "ä"));
  EXPECT_TRUE(may_read_log(claims, "all", "any"));
  EXPECT_TRUE(may_read_log(claims, "logs2", "b"));
  for (const char* claim : {"one", "yes", "nested", "none", "", "sub"})
    EXPECT_FALSE(may_read_log(claims, claim, "acme")) << claim;
  for (const char* space : {"acm", "acmee", "*", "", "ACME"})
    EXPECT_FALSE(may_read_log(claims, "logs", space)) << space;
}

TEST(HttpMutations, who_may_write_nothing_is_refused_by_the_head_alone) {
  struct Nowhere final : ledger::Mutations {
    void mutate(ledger::MutationRequest, ledger::WriteRulesPtr,
                std::function<void(ledger::Result<ledger::MutationAnswer>)>) override {}
    void receipt(std::string, std::string, std::string, std::int64_t,
                 std::function<void(ledger::Result<ledger::MutationAnswer>)>) override {}
  } nowhere;
  boost::asio::io_context io;
  const auth::TokenVerifier verifier;
  HttpMutations door(io, nowhere, verifier, {});
  door.set_model(active_model());
  HttpHead head;
  head.method = "POST";
  head.fields = {{"content-type", "application/json"}};
  auth::Principal principal;
  principal.claims = "{}";
  const auto refusal = door.refusal("s", "mutations", principal, head);
  ASSERT_TRUE(refusal);
  EXPECT_THAT(*refusal, AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("no policy lets this token write anything")));
}

constexpr std::string_view view_model = R"(
create table t (id int4 primary key, name text, n int8, ok boolean);
create view v as select id from t
  where name = params.name and n > params.n and ok = params.ok and name = any(params.names);
create policy everybody on v using (true);
)";

TEST(ViewParameters, a_text_is_taken_as_it_is_and_everything_else_is_json) {
  const auto model = active_model(view_model);
  const auto text = [&](const QueryItems& query) { return parameters_of(*model, "v", query); };
  EXPECT_EQ(text({{"name", "12"}, {"n", "9007199254740993"}, {"ok", "true"}, {"names", R"(["a","b"])"}}),
            R"({"name":"12","n":9007199254740993,"ok":true,"names":["a","b"]})");
  EXPECT_EQ(text({{"name", "null"}, {"n", "null"}}), R"({"name":"null","n":null})");
  EXPECT_EQ(text({{"n", "1,\"x\":2"}, {"ok", ""}}), R"({"n":"1,\"x\":2","ok":""})") << "nothing is smuggled in";
  EXPECT_EQ(text({{"a\"b", "x"}}), R"({"a\"b":"x"})");
  EXPECT_EQ(parameters_of(*model, "none", {{"n", "1"}}), R"({"n":"1"})");
  EXPECT_EQ(parameters_of(ActiveModel{}, "v", {}), "{}");
}

TEST(ViewAnswer, is_the_golden_document) {
  ViewQuestion question;
  question.space = "7";
  question.view = "watch";
  const auto golden = test::golden_files("http_view");
  ASSERT_EQ(golden.size(), 1U);
  const std::string records = R"({"key":[3],"record":{"aid": 3, "note": "café", "abalance": 12345678901234567890.10}})";
  const std::string cursor(view_document(golden[0].text)->plain("cursor"));
  const std::string expected = golden[0].text;
  EXPECT_EQ(view_head(question, ledger::Sequence{41}, cursor) + records + std::string(view_end), expected + "\n");
}

TEST(ViewAnswer, takes_the_records_out_of_a_snapshot_whatever_they_hold) {
  for (const std::string records : {"", R"({"key":["]}"],"record":{"a": "],\"records\":["}})"}) {
    std::string document;
    append_snapshot(document, "b346e53afadb30d5", "[" + records + "]");
    EXPECT_EQ(records_in(document + "\n"), records);
  }
}

TEST(HttpHead, fields_are_found_without_regard_to_case_and_only_where_they_are_one) {
  const auto parsed =
      parse_http_head("GET /a?b HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: 2\r\nAUTHORIZATION: Bearer t\r\n\r\n");
  const auto* head = std::get_if<HttpHead>(&parsed);
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->target, "/a?b");
  EXPECT_EQ(head->only("authorization"), "Bearer t");
  EXPECT_EQ(head->only("x-two"), "");
  EXPECT_EQ(head->count("x-two"), 2U);
  EXPECT_FALSE(head->has_body());
}

TEST(HttpHead, the_scheme_of_a_credential_is_bearer_however_its_letters_are_written) {
  const auto bearer = [](const std::string& value) {
    const std::string text = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: " + value + "\r\n\r\n";
    const auto parsed = parse_http_head(text);
    return std::string(std::get<HttpHead>(parsed).bearer());
  };
  for (const char* good : {"Bearer aB.c", "bearer aB.c", "BEARER aB.c", "bEARER   aB.c"}) {
    EXPECT_EQ(bearer(good), "aB.c") << good;
  }
  for (const char* bad :
       {"", "Bearer", "Bearer ", "BeareraB.c", "Bearer\taB.c", "Basic aB.c", "xBearer aB.c", "aB.c"}) {
    EXPECT_EQ(bearer(bad), "") << bad;
  }
}

TEST(HttpAnswer, chunks_carry_their_size_in_hexadecimal) {
  EXPECT_EQ(http_chunk("0123456789abcdef!"), "11\r\n0123456789abcdef!\r\n");
  EXPECT_EQ(http_last_chunk, "0\r\n\r\n");
  EXPECT_EQ(http_text(503, "text/plain", "no", "Retry-After: 1\r\n"),
            "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Type: "
            "text/plain\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno");
}

TEST(LogLine, holds_all_that_a_commit_has_and_nothing_that_it_has_not) {
  ledger::CommitPart part;
  part.space = "a\"b";
  part.position = {ledger::Sequence{7}, ledger::Stamp{18446744073709551615U}};
  part.provenance = {"mutation",       "app", "2026-01-02T03:04:05.678901Z", "https://issuer ann", "c1", "r-9",
                     R"({"by": 1.10})"};
  part.receipt = ledger::CommitReceipt{3, R"({"number":"3"})", "{\"secret\": 1}"};
  part.changes.push_back(
      {0, ledger::ChangeKind::updated, "issues", "[7]", R"({"n": 1e400})", R"({"n": 2})", {"record", "schedule"}});
  part.changes.push_back({1, ledger::ChangeKind::erased, "issues", "[8]", {}, {}, {}});
  std::string line;
  append_log_line(line, part);
  EXPECT_EQ(
      line,
      R"({"space":"a\"b","sequence":"7","stamp":"18446744073709551615","source":"mutation","role":"app",)"
      R"("at":"2026-01-02T03:04:05.678901Z","principal":"https://issuer ann","client":"c1","request_id":"r-9",)"
      R"("fields":{"by": 1.10},"receipt":{"number":"3"},"request":"{\"secret\": 1}","changes":[)"
      R"({"ordinal":0,"kind":"updated","collection":"issues","key":[7],"before":{"n": 1e400},"after":{"n": 2},)"
      R"("groups":["record","schedule"]},{"ordinal":1,"kind":"erased","collection":"issues","key":[8]}],"last":true})"
      "\n");
  ledger::CommitPart bare;
  bare.space = "s";
  bare.position.sequence = ledger::Sequence{1};
  bare.provenance = {"append", "app", "t"};
  bare.last = false;
  line.clear();
  append_log_line(line, bare);
  EXPECT_EQ(
      line,
      R"({"space":"s","sequence":"1","stamp":"0","source":"append","role":"app","at":"t","changes":[],"last":false})"
      "\n");
}

TEST(LogLine, a_page_ends_with_where_to_go_on) {
  std::string line;
  append_log_end(line, ledger::LogPage{ledger::Sequence{7}, ledger::Sequence{9}, ledger::Sequence{2}, ledger::Stamp{}});
  EXPECT_EQ(line, R"({"next_cursor":"7","has_more":true,"watermark":"9","retained_from":"2"})"
                  "\n");
}

}  // namespace
}  // namespace viewgate::gateway::testing
