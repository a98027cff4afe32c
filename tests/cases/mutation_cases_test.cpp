// Cases about writing: what users of other systems reported, end to end on the built program.
#include <gmock/gmock.h>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class MutationCases : public ::testing::Test {
 protected:
  static std::string label(const std::string& kind, const std::string& name, const std::string& colour = "") {
    const std::string member = kind == "update" ? "changed" : "record";
    return R"({"kind":")" + kind + R"(","collection":"labels","key":[")" + name + "\"]" +
           (colour.empty() ? "" : ",\"" + member + R"(":{"colour":")" + colour + "\"}") + "}";
  }
  std::int64_t head() { return std::stoll(line.value("select viewgate.watermark($1)", {space})); }
  static std::vector<std::string> events(const Document& commit) {
    const std::string text = commit.raw("events");
    std::vector<std::string_view> each;
    EXPECT_TRUE(loadtest::elements(text, each)) << commit.text;
    return {each.begin(), each.end()};
  }

  Line& line = Line::shared();
  std::string space = line.new_space();
};

TEST_F(MutationCases, case_36_a_mutation_without_effect_resolves_and_tabs_share_what_became_of_it) {
  WsClient one(line.port(), line.reader(), "tabs"), two(line.port(), line.reader(), "tabs");
  for (WsClient* each : {&one, &two}) each->open({.space = space, .view = "all_labels"});
  one.mutate(space, 1, "[" + label("put", "a", "red") + "]");
  const Document applied = one.receipt_of(1);
  EXPECT_THAT(applied.text, HasSubstr("\"outcome\":\"applied\""));
  EXPECT_EQ(two.receipt_of(1).text, applied.text) << "the other tab is told, too";
  one.mutate(space, 2, "[" + label("put", "a", "red") + "]");
  const Document nothing = one.receipt_of(2);
  EXPECT_THAT(nothing.text, HasSubstr("\"outcome\":\"no_op\""));
  EXPECT_EQ(two.receipt_of(2).text, nothing.text);
  two.mutate(space, 2, "[" + label("put", "a", "red") + "]");
  EXPECT_EQ(two.receipt_of(2).text, nothing.text) << "sent twice: one effect, two identical receipts";
  two.mutate(space, 4, "[" + label("put", "a", "blue") + "]");
  EXPECT_EQ(two.next_of("error").plain("expected"), "3");
  two.mutate(space, 3, "[" + label("create", "a", "blue") + "]");
  EXPECT_THAT(two.receipt_of(3).text, HasSubstr("\"outcome\":\"rejected\""));
  EXPECT_THAT(one.receipt_of(3).text, HasSubstr("\"outcome\":\"rejected\""));
  EXPECT_EQ(head(), 3) << "each processed one is a commit, also without a change";
  EXPECT_EQ(line.value("select count(*) from viewgate.changes where space = $1", {space}), "1");
}

TEST_F(MutationCases, case_36_a_client_without_a_view_gets_its_receipts_and_a_late_tab_asks_for_them) {
  WsClient alone(line.port(), line.reader(), "alone");
  std::vector<std::string> receipts;
  for (int i = 1; i <= 5; ++i) {
    alone.mutate(space, i, "[" + label("put", "a", std::to_string(i)) + "]");
    receipts.push_back(alone.receipt_of(i).text);
    EXPECT_THAT(receipts.back(), HasSubstr("\"applied\""));
  }
  WsClient late(line.port(), line.reader(), "alone");
  late.send(R"({"type":"receipts","space":")" + space + R"(","after":"2"})");
  for (int i = 3; i <= 5; ++i) EXPECT_EQ(late.next().text, receipts[static_cast<std::size_t>(i - 1)]);
  EXPECT_EQ(late.next().raw("receipts"), "[]") << "there are no more";
  // What is pruned is passed over; asked for by its number it is said to be gone.
  line.session().query("select viewgate.prune($1, 2)", {space});
  line.session().query("select viewgate.prune_batch($1, 1000)", {space});
  late.send(R"({"type":"receipts","space":")" + space + R"(","after":"0"})");
  Document first = late.next();
  EXPECT_EQ(first.text, receipts[3]);
  EXPECT_EQ(late.next().text, receipts[4]);
  EXPECT_EQ(late.next().raw("receipts"), "[]");
  alone.mutate(space, 1, "[" + label("put", "a", "1") + "]");
  EXPECT_EQ(alone.next_of("error").plain("code"), "receipt_pruned");
}

TEST_F(MutationCases, case_36_a_receipt_comes_with_its_effect_and_before_the_at_of_its_commit) {
  WsClient client(line.port(), line.reader(), "c");
  client.open({.id = "a", .space = space, .view = "all_labels"});
  client.open({.id = "b", .space = space, .view = "all_notes"});
  client.also_show("at");
  for (std::int64_t number = 1; number <= 20; ++number) {
    client.mutate(space, number, "[" + label("put", "a", "colour " + std::to_string(number)) + "]");
    const Document commit = client.next_of("commit");
    EXPECT_EQ(commit.number("sequence"), number);
    const Document receipts = client.next();
    EXPECT_EQ(receipts.type(), "receipts") << receipts.text;
    EXPECT_EQ(receipts.number("sequence"), number);
    const Document at = client.next_of("at");
    EXPECT_GE(at.number("sequence"), number);
  }
  // Also where no view moves: the views are complete up to it all the same.
  client.mutate(space, 21, "[" + label("create", "a", "x") + "]");
  EXPECT_THAT(client.receipt_of(21).text, HasSubstr("\"already_exists\""));
}

TEST_F(MutationCases, case_11_a_record_gets_another_key_by_delete_and_create_in_one_commit) {
  WsClient client(line.port(), line.reader(), "c");
  client.open({.space = space, .view = "all_labels"});
  client.mutate(space, 1, "[" + label("create", "one", "red") + "]");
  client.next_of("commit");
  client.mutate(space, 2, "[" + label("delete", "one") + "," + label("create", "two", "red") + "]");
  EXPECT_THAT(events(client.next_of("commit")),
              UnorderedElementsAre(AllOf(HasSubstr("[\"one\"]"), HasSubstr("\"deleted\"")),
                                   AllOf(HasSubstr("[\"two\"]"), HasSubstr("\"entered\""))));
  client.mutate(space, 3, R"([{"kind":"update","collection":"labels","key":["two"],"changed":{"name":"three"}}])");
  EXPECT_THAT(client.next_of("error").plain("message"),
              StartsWith("mutations[0].changed.name: is not what the key says"));
}

TEST_F(MutationCases, case_32_what_text_cannot_hold_is_refused_at_the_door_and_everyone_else_goes_on) {
  WsClient watcher(line.port(), line.reader());
  watcher.open({.space = space, .view = "all_labels"});
  {
    WsClient broken(line.port(), line.reader(), "c");
    broken.mutate(space, 1, "[" + label("create", "a", "\xFF") + "]");
    EXPECT_EQ(broken.closed_with(), 1007);
  }
  WsClient client(line.port(), line.reader(), "c");
  for (const std::string text : {"\\u0000", "\\ud800", "\\udc00\\ud800"}) {
    client.mutate(space, 1, "[" + label("create", "a", text) + "]");
    EXPECT_EQ(client.next().plain("code"), "invalid_value") << text;
    client.mutate(space, 1, "[" + label("create", text, "red") + "]");
    EXPECT_EQ(client.next().plain("code"), "invalid_value") << text;
  }
  client.mutate(space, 1, "[" + label("create", "a", "\\ud83d\\ude00 \\u2028 \\\\u0000") + "]");
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("\"applied\""));
  EXPECT_THAT(watcher.next_of("commit").text, HasSubstr(R"("colour":"😀 )"
                                                        "\xE2\x80\xA8"
                                                        R"( \\u0000")"));
}

TEST_F(MutationCases, two_people_conflict_only_where_they_change_one_group) {
  WsClient one(line.port(), line.reader(), "one"), two(line.port(), line.reader(), "two");
  const auto change = [](const std::string& changed, const std::string& bases) {
    return R"([{"kind":"update","collection":"notes","key":[1],"changed":)" + changed + ",\"bases\":" + bases + "}]";
  };
  two.open({.space = space, .view = "all_notes"});
  one.mutate(space, 1, R"([{"kind":"create","collection":"notes","key":[1],"record":{"title":"t","owner":"alice"}}])");
  one.receipt_of(1);
  one.mutate(space, 2, change(R"({"starts":"2024-01-01"})", R"({"schedule":"1"})"));
  EXPECT_THAT(one.receipt_of(2).text, HasSubstr("\"applied\""));
  EXPECT_THAT(two.next_of("commit").text, HasSubstr("\"entered\""));
  EXPECT_THAT(two.next_of("commit").text, HasSubstr(R"("changed":{"starts":"2024-01-01"},"groups":["schedule"]})"));
  two.mutate(space, 1, change(R"({"body":"text"})", R"({"body":"1","schedule":"1"})"));
  EXPECT_THAT(two.receipt_of(1).text, HasSubstr("\"applied\"")) << "another group";
  two.mutate(space, 2, change(R"({"ends":"2024-02-01"})", R"({"schedule":"1"})"));
  EXPECT_THAT(two.receipt_of(2).text, AllOf(HasSubstr("\"conflict\""), HasSubstr(R"("groups":{"schedule":"2"})")));
  two.mutate(space, 3, change(R"({"ends":"2024-02-01"})", R"({"schedule":"2"})"));
  EXPECT_THAT(two.receipt_of(3).text, HasSubstr("\"applied\""));
}

}  // namespace
}  // namespace viewgate::testing
