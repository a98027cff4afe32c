// The shape of mutations at both doors: what is malformed is refused by the member's name before anything is asked of the
// model or the ledger (rows 33, 34, 46).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view remove_one = R"([{"kind":"delete","collection":"issues","key":[1]}])";

std::string mutate_with(std::string_view number, std::string_view mutations = remove_one, std::string_view more = "") {
  std::string out = R"({"type":"mutate","space":"7","number":)";
  return out.append(number).append(",\"mutations\":").append(mutations).append(more).append("}");
}

/// The message of a bad request; "accepted", or "closed: …".
std::string outcome(const std::string& text) {
  const ParsedClientMessage parsed = parse_client_message(text);
  if (const auto* bad = std::get_if<BadMessage>(&parsed)) return "closed: " + std::string(bad->reason);
  if (const auto* bad = std::get_if<BadRequest>(&parsed)) return bad->message;
  return "accepted";
}

Mutate accepted(const std::string& text) {
  return std::get<Mutate>(std::get<ClientMessage>(parse_client_message(text)));
}

std::string one(std::string_view members) { return "[{" + std::string(members) + "}]"; }

TEST(Mutations, row_46_a_number_is_a_decimal_from_1_to_the_largest_int8) {
  for (const std::string_view number : {"0", "-1", "1", "1.0", "\"0\"", "\"-1\"", "\"01\"", "\"1.0\"", "\"1e3\"",
                                        "\"\"", "\" 1\"", "\"+1\"", "\"9223372036854775808\"", "null", "[1]"}) {
    EXPECT_THAT(outcome(mutate_with(number)), StartsWith("number: must be ")) << number;
  }
  EXPECT_EQ(accepted(mutate_with("\"9223372036854775807\"")).number, std::numeric_limits<std::int64_t>::max());
}

TEST(Mutations, row_46_a_refused_mutate_is_answered_under_its_space_and_number) {
  const auto parsed = parse_client_message(mutate_with("\"5\"", "[]"));
  const auto& refused = std::get<BadRequest>(parsed);
  EXPECT_EQ(refused.space, "7");
  EXPECT_EQ(refused.number, 5);
  EXPECT_EQ(refused.message, "mutations: must hold at least one");
  EXPECT_EQ(std::get<BadRequest>(parse_client_message(mutate_with("\"0\""))).number, 0);
}

TEST(Mutations, what_is_malformed_is_refused_by_the_name_of_its_place) {
  const auto refusal = [](std::string_view mutations) { return outcome(mutate_with("\"1\"", mutations)); };
  EXPECT_EQ(refusal("[1]"), "mutations[0]: must be an object");
  EXPECT_THAT(refusal(one(R"("collection":"t","key":[1])")), StartsWith("mutations[0].kind: must be \"create\""));
  EXPECT_THAT(refusal(one(R"("kind":"merge","collection":"t","key":[1])")), StartsWith("mutations[0].kind: must be "));
  EXPECT_THAT(refusal(one(R"("kind":"create","collection":"t","key":[1])")),
              StartsWith("mutations[0].record: is missing"));
  EXPECT_THAT(refusal(one(R"("kind":"update","collection":"t","key":[1],"record":{})")),
              StartsWith("mutations[0].record: is not known; the members are kind, collection, key, changed, bases"));
  EXPECT_EQ(refusal(one(R"("kind":"delete","collection":"t","key":1)")), "mutations[0].key: must be an array");
  EXPECT_THAT(refusal(one(R"("kind":"delete","collection":"t","key":[1],"type":"x")")),
              StartsWith("mutations[0].type: is not known"));
  for (const std::string_view base : {"5", "\"-1\"", "\"9223372036854775808\"", "\"\"", "null"}) {
    EXPECT_EQ(refusal(one(R"("kind":"delete","collection":"t","key":[1],"bases":{"g":)" + std::string(base) + "}")),
              "mutations[0].bases.g: must be a sequence, a decimal number in a string");
  }
  EXPECT_EQ(refusal(one(R"("kind":"delete","collection":"t","key":[1],"bases":{"g":"1","g":"2"})")),
            "mutations[0].bases.g: stands twice");
  std::string many = "[";
  for (std::size_t i = 0; i <= limits::mutations; ++i) many += R"({"kind":"delete","collection":"t","key":[1]},)";
  many.back() = ']';
  EXPECT_EQ(refusal(many), "mutations: must be at most 500");
  EXPECT_THAT(outcome(mutate_with("\"1\"", remove_one, R"(,"request_id":"")")),
              StartsWith("request_id: must not be empty"));
  EXPECT_THAT(outcome(mutate_with("\"1\"", remove_one, R"(,"provenance":{"a":"\ud800"})")), StartsWith("provenance: "));
  EXPECT_THAT(outcome(mutate_with("\"1\"", remove_one, R"(,"provenance":{"a\u0000":1})")), StartsWith("provenance: "));
  EXPECT_THAT(outcome(mutate_with("\"1\"", remove_one, ",\"provenance\":{\"a\":\"" + std::string(1100, 'x') + "\"}")),
              StartsWith("provenance: must be at most 1024 bytes"));
}

TEST(Mutations, row_34_a_name_twice_in_a_record_is_a_value_and_anywhere_else_the_end_of_the_socket) {
  const std::string twice = one(R"("kind":"put","collection":"t","key":[1],"record":{"a":1,"\u0061":2})");
  EXPECT_EQ(outcome(mutate_with("\"1\"", twice)), "accepted");
  EXPECT_EQ(outcome(mutate_with("\"1\"", twice, R"(,"space":"8")")), "closed: a name twice in one object");
  EXPECT_EQ(outcome(mutate_with("\"1\"", one(R"("kind":"delete","kind":"delete","collection":"t","key":[1])"))),
            "closed: a name twice in one object");
  EXPECT_EQ(outcome(R"({"type":"subscribe","id":"a","space":"7","view":"v","params":{"x":{"y":{"z":{"a":1,"a":2}}}}})"),
            "closed: a name twice in one object");
  EXPECT_THAT(outcome(mutate_with("\"1\"", twice) + "x"), StartsWith("closed: "));
}

TEST(Mutations, values_keep_their_text_until_the_model_is_asked) {
  const Mutate message = accepted(
      mutate_with("\"2\"", one(R"("kind":"put","collection":"t","key":[ "a" ],"record":{"n": 1e400, "s":"\u0000"})")));
  EXPECT_EQ(message.mutations[0].key, R"([ "a" ])");
  EXPECT_EQ(message.mutations[0].values, R"({"n": 1e400, "s":"\u0000"})");
}

TEST(Mutations, the_body_of_the_http_door_is_read_as_strictly) {
  const auto body = [](std::string_view text) -> std::string {
    const auto parsed = parse_mutation_body(text);
    const auto* refused = std::get_if<BadRequest>(&parsed);
    return refused == nullptr ? "accepted" : refused->message;
  };
  const std::string rest = R"("number":"1","mutations":)" + std::string(remove_one) + "}";
  EXPECT_EQ(body(R"({"client":"c",)" + rest), "accepted");
  EXPECT_THAT(body("{" + rest), StartsWith("client: is missing"));
  EXPECT_THAT(body(R"({"client":"",)" + rest), HasSubstr("must not be empty"));
  EXPECT_THAT(body(R"({"client":"c","space":"7",)" + rest), StartsWith("space: is not known"));
  EXPECT_THAT(body(R"({"client":"c","type":"mutate",)" + rest), StartsWith("type: is not known"));
  EXPECT_THAT(body(R"({"client":"c","client":"c",)" + rest), HasSubstr("a name twice"));
  EXPECT_EQ(body("[]"), "body: must be a JSON object");
  EXPECT_EQ(body(""), "not a JSON value");
}

}  // namespace
}  // namespace viewgate::gateway
