// What leads from an error to the log: ids and traces as they come in a head and go out in an answer, and the pace of lines that
// anybody can cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gateway/correlation.hpp"
#include "gateway/log_sparingly.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string traceparent = "00-" + std::string(trace) + "-00f067aa0ba902b7-01";

HttpHead head_with(const std::string& name, const std::string& value) {
  HttpHead out;
  out.fields.emplace_back(name, value);
  return out;
}

TEST(Correlation, each_connection_has_an_id_of_its_own) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_correlation().id);
  EXPECT_EQ(ids.size(), 1000U);
  for (const auto& id : ids) {
    EXPECT_EQ(id.size(), 16U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  }
}

TEST(Correlation, an_id_from_outside_is_a_short_word_given_once) {
  const auto given = [](const std::string& value) {
    return std::string(given_request_id(head_with("x-request-id", value)));
  };
  EXPECT_EQ(given("7f1c-A_b.9"), "7f1c-A_b.9");
  EXPECT_EQ(given(std::string(64, 'a')), std::string(64, 'a'));
  for (const std::string& wrong : {std::string(), std::string(65, 'a'), std::string("a b"), std::string("a\tb"),
                                   std::string("a\"b"), std::string("caf\xc3\xa9"), std::string("a=b")}) {
    EXPECT_EQ(given(wrong), "") << wrong;
  }
  auto twice = head_with("x-request-id", "one");
  twice.fields.emplace_back("x-request-id", "one");
  EXPECT_EQ(given_request_id(twice), "");
}

TEST(Correlation, a_trace_is_taken_in_the_form_of_its_standard_alone) {
  const auto given = [](const std::string& value) {
    return std::string(given_traceparent(head_with("traceparent", value)));
  };
  EXPECT_EQ(given(traceparent), traceparent);
  const std::string zeros(32, '0');
  for (const std::string& wrong :
       {std::string(), traceparent + "-1", "01" + traceparent.substr(2), "ff" + traceparent.substr(2),
        "00_" + traceparent.substr(3), "00-" + zeros + traceparent.substr(35),
        traceparent.substr(0, 36) + std::string(16, '0') + "-01", "00-4BF92F" + traceparent.substr(9),
        traceparent.substr(0, 54) + "g", traceparent.substr(1), "00-" + traceparent.substr(4) + "0"}) {
    EXPECT_EQ(given(wrong), "") << wrong;
  }
}

TEST(Correlation, a_line_has_the_trace_where_there_is_one) {
  Correlation who{"id", ""};
  const auto line = [&](log::Format format) {
    return log::line(format, "event", {who.connection_field(), who.trace_field(), {"more", 1}});
  };
  EXPECT_EQ(line(log::Format::text), "event connection=id more=1");
  EXPECT_EQ(line(log::Format::json), R"("event":"event","connection":"id","more":"1")");
  who.traceparent = traceparent;
  EXPECT_EQ(line(log::Format::text), "event connection=id trace=" + std::string(trace) + " more=1");
}

TEST(Correlation, a_response_says_the_id_among_its_fields) {
  const Correlation who{"abc", ""};
  EXPECT_EQ(with_request_id("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n", who),
            "HTTP/1.1 200 OK\r\nX-Request-Id: abc\r\nA: b\r\n\r\nbody\r\n");
}

TEST(Correlation, a_trace_goes_into_a_provenance_that_has_none) {
  const Correlation who{"abc", traceparent};
  const std::string member = R"("traceparent":")" + traceparent + '"';
  EXPECT_EQ(with_trace("{}", who), "{" + member + "}");
  EXPECT_EQ(with_trace("{ }", who), "{" + member + " }");
  EXPECT_EQ(with_trace(R"( {"page":"board"})", who), "{" + member + R"(,"page":"board"})");
  EXPECT_EQ(with_trace(R"({"traceparent":"mine"})", who), R"({"traceparent":"mine"})");
  EXPECT_EQ(with_trace(R"({"tr\u0061ceparent":1})", who), R"({"tr\u0061ceparent":1})") << "the same name";
  EXPECT_EQ(with_trace(R"({"page":1})", Correlation{"abc", ""}), R"({"page":1})");
}

TEST(Pace, an_event_has_so_many_lines_a_second_and_its_next_line_says_how_many_are_missing) {
  using namespace std::chrono_literals;
  log::Pace pace;
  const log::Pace::Time begin{1h};
  for (int i = 0; i < log::sparing_lines_per_second; ++i) EXPECT_EQ(pace.next("noisy", begin), 0U) << i;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pace.next("noisy", begin + 999ms), std::nullopt);
  EXPECT_EQ(pace.next("quiet", begin + 999ms), 0U) << "no event hides another";
  EXPECT_EQ(pace.next("noisy", begin + 1s), 1000U);
  EXPECT_EQ(pace.next("noisy", begin + 1s), 0U) << "told once";
}

}  // namespace
}  // namespace viewgate::gateway
