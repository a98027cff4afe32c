// The documents of the server as a C++ client reads them: exact slices, unknown things skipped, broken ones refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gateway/golden_files.hpp"
#include "gateway/json_text.hpp"
#include "gateway/protocol_json.hpp"
#include "support/seed.hpp"

namespace viewgate::gateway {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ServerDocuments, unknown_members_and_types_are_skipped) {
  const auto message =
      parse_server_document(R"({"new":{"deep":[1,{"type":"x"}]},"type":"at","space":"7","sequence":"5","x":null})");
  ASSERT_TRUE(message);
  EXPECT_EQ(std::get<At>(*message).sequence, 5);
  const auto unknown = parse_server_document(R"({"type":"weather","items":[]})");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(std::get<UnknownDocument>(*unknown).type, "weather");
  const auto notice = parse_server_document(R"({"type":"notice","kind":"sunny"})");
  ASSERT_TRUE(notice);
  EXPECT_EQ(std::get<UnknownDocument>(*notice).type, "notice");
}

TEST(ServerDocuments, missing_and_wrongly_typed_members_are_refused) {
  for (const std::string text :
       {"", "{}", "[]", "5", "at", R"({"type":5})", R"({"type":"at"})", R"({"type":"at","space":7,"sequence":"5"})",
        R"({"type":"at","space":"7","sequence":5})", R"({"type":"at","space":"7","sequence":"5x"})",
        R"({"type":"at","space":"7","sequence":""})", R"({"type":"at","space":"7","sequence":"9223372036854775808"})",
        R"({"type":"commit","channel":"c","sequence":"1","events":[]})",
        R"({"type":"commit","channel":"c","sequence":"1","position":"p","events":{}})",
        R"({"type":"commit","channel":"c","sequence":"1","position":"p","events":[],"last":1})",
        R"({"type":"subscribed","id":"a","channel":"c","context":"x","resumed":"no"})",
        R"({"type":"at","space":"7")"}) {
    EXPECT_FALSE(parse_server_document(text)) << text;
  }
}

TEST(ServerDocuments, records_and_events_are_exact_slices) {
  const std::string records =
      R"([{"key":[1],"record":{"n": 1.10, "s": "a\"]}", "x": {"y": [1e400]}}} , {"record":{},"key":["b", 2]}])";
  const auto views = read_records(records);
  ASSERT_TRUE(views);
  ASSERT_EQ(views->size(), 2U);
  EXPECT_EQ((*views)[0].key, "[1]");
  EXPECT_EQ((*views)[0].record, R"({"n": 1.10, "s": "a\"]}", "x": {"y": [1e400]}})");
  EXPECT_EQ((*views)[1].key, R"(["b", 2])");

  std::string events = "[";
  append_event(events, EventKind::entered, "[1]", R"({"a": 1.0})");
  events += ',';
  append_event(events, EventKind::updated, "[2]", R"({"a": null})");
  events += ',';
  append_event(events, EventKind::removed_from_scope, "[3]", {});
  events += ',';
  append_event(events, EventKind::deleted, "[4]", {});
  events += ']';
  const auto read = read_events(events);
  ASSERT_TRUE(read);
  std::vector<std::string> told;
  for (const EventView& event : *read) {
    told.push_back(std::string(name(event.kind)) + std::string(event.key) + std::string(event.body));
  }
  EXPECT_THAT(
      told, ElementsAre(R"(entered[1]{"a": 1.0})", R"(updated[2]{"a": null})", "removed_from_scope[3]", "deleted[4]"));
  EXPECT_THAT(*read_events("[]"), IsEmpty());
  EXPECT_THAT(*read_records("[ ]"), IsEmpty());
}

TEST(ServerDocuments, malformed_events_and_records_are_refused) {
  for (const std::string text : {"", "{}", "[", "[5]", "[{}]", R"([{"kind":"entered","key":[1]}])",
                                 R"([{"kind":"deleted","key":[1],"record":{}}])", R"([{"kind":"moved","key":[1]}])",
                                 R"([{"key":[1]}])", R"([{"kind":"deleted"}])", R"([{"kind":"deleted","key":[1]})"}) {
    EXPECT_FALSE(read_events(text)) << text;
  }
  for (const std::string text :
       {"", "{}", "[{}]", R"([{"key":[1]}])", R"([{"record":{}}])", R"([{"key":[1],"record":{}])"}) {
    EXPECT_FALSE(read_records(text)) << text;
  }
}

TEST(ServerDocuments, a_message_splits_into_its_documents) {
  EXPECT_THAT(split_documents("{\"a\":1}\n{\"b\":2}\n"), ElementsAre("{\"a\":1}", "{\"b\":2}"));
  EXPECT_THAT(split_documents("{\"a\":1}"), ElementsAre("{\"a\":1}"));
  EXPECT_THAT(split_documents("\n\n"), IsEmpty());
  EXPECT_THAT(split_documents(""), IsEmpty());
}

TEST(ServerDocuments, a_view_finds_members_without_building_a_message) {
  const auto view =
      view_document(R"({"type":"commit","channel":"c1","events":[{"channel":"inner"}],"position":"p","e":"a\"b"})");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->type, "commit");
  EXPECT_EQ(view->plain("channel"), "c1");
  EXPECT_EQ(view->plain("position"), "p");
  EXPECT_EQ(view->raw("events"), R"([{"channel":"inner"}])");
  EXPECT_EQ(view->raw("e"), R"("a\"b")");
  EXPECT_EQ(view->plain("e"), "");
  EXPECT_EQ(view->raw("absent"), "");
}

TEST(ServerDocuments, strings_are_written_as_json_stringify_does) {
  std::string out;
  append_json_string(out, "\0\x01\b\t\n\x0B\f\r\x1F \"\\/\x7F\u2028é"s);
  EXPECT_EQ(out, "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\x7F\u2028é\"");
}

TEST(ServerDocuments, cuts_and_changed_bytes_stay_inside_the_text) {
  const unsigned seed = testing::seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (const test::GoldenFile& file : test::golden_files("server_")) {
    for (std::size_t cut = 0; cut < file.text.size(); ++cut) {
      const std::vector<char> exact(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(cut));
      EXPECT_FALSE(parse_server_document({exact.data(), exact.size()})) << file.name << cut;
    }
    for (int round = 0; round < 1000; ++round) {
      std::vector<char> text(file.text.begin(), file.text.end());
      for (std::size_t i = 0; i <= random() % 3; ++i) text[random() % text.size()] = static_cast<char>(random());
      const std::string_view changed{text.data(), text.size()};
      if (const auto view = view_document(changed)) {
        (void)read_events(view->raw("events"));
        (void)read_records(view->raw("records"));
      }
      (void)parse_server_document(changed);
    }
  }
}

TEST(CloseCodes, each_is_found_by_its_number_and_names_are_unique) {
  std::vector<std::string_view> names;
  for (const CloseCode& code : close_codes) {
    ASSERT_NE(find_close_code(code.code), nullptr);
    EXPECT_EQ(find_close_code(code.code)->name, code.name);
    EXPECT_THAT(names, ::testing::Not(::testing::Contains(code.name)));
    names.push_back(code.name);
  }
  EXPECT_EQ(find_close_code(1000), nullptr);
}

}  // namespace
}  // namespace viewgate::gateway
