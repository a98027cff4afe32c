// docs/protocol.md cannot say what the code does not do: each of its JSON examples is a golden file, each golden file
// is one of its examples, and its tables are those of protocol.hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/golden_files.hpp"
#include "gateway/protocol_json.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::gateway {
namespace {

std::string document() { return test::file_text(VIEWGATE_SOURCE_DIR "/docs/protocol.md"); }

// The lines between ```json and ```.
std::vector<std::string> examples() {
  std::vector<std::string> out;
  const std::string text = document();
  const std::string opening = "\n```json\n";
  for (std::size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at)) {
    at += opening.size();
    const std::string block = text.substr(at, text.find("\n```", at) - at);
    for (const std::string_view line : split_documents(block)) out.emplace_back(line);
  }
  return out;
}

// The text between two marks that name a table.
std::string table(const std::string& name) {
  const std::string text = document();
  const std::string opening = "<!-- " + name + " -->\n";
  const std::size_t begin = text.find(opening);
  if (begin == std::string::npos) return "docs/protocol.md has no mark " + opening;
  return text.substr(begin + opening.size(), text.find("<!-- end -->", begin) - begin - opening.size());
}

TEST(ProtocolDocs, every_example_is_a_golden_file_and_every_golden_file_is_an_example) {
  std::vector<std::string> golden;
  for (const test::GoldenFile& file : test::golden_files("")) golden.push_back(file.text);
  EXPECT_THAT(examples(), ::testing::UnorderedElementsAreArray(golden));
}

TEST(ProtocolDocs, the_table_of_close_codes_is_that_of_the_code) {
  std::string expected = "| code | name | come back | meaning |\n|---|---|---|---|\n";
  for (const CloseCode& code : close_codes) {
    expected += "| " + std::to_string(code.code) + " | `" + std::string(code.name) + "` | " +
                std::string(name(code.retry)) + " | " + std::string(code.meaning) + " |\n";
  }
  EXPECT_EQ(table("close codes"), expected);
}

TEST(ProtocolDocs, the_table_of_limits_is_that_of_the_code) {
  const auto row = [](const std::string& what, auto value, const std::string& unit, const std::string& otherwise) {
    return "| " + what + " | " + std::to_string(value) + unit + " | " + otherwise + " |\n";
  };
  std::string expected = "| limit | value | beyond it |\n|---|---|---|\n";
  expected += row("message of a client", limits::client_message_bytes, " bytes", "close 1009");
  expected += row("fragments of a message", limits::client_message_fragments, "", "close 1008");
  expected +=
      row("time from a message's first byte to its last", limits::client_message_time.count(), " s", "close 1008");
  expected += row("nesting of JSON", limits::json_depth, "", "close 4000");
  expected += row("members of all objects of a message", limits::json_members, "", "close 4000");
  expected += row("bad requests on a socket", limits::strikes, "", "close 4000");
  expected += row("`token`", limits::token_bytes, " bytes", "`bad_request`");
  expected += row("`id`", limits::id_bytes, " bytes", "`bad_request`");
  expected += row("`client`", limits::client_id_bytes, " bytes", "`bad_request`");
  expected += row("`space`", limits::space_bytes, " bytes", "`bad_request`");
  expected += row("`mutations` of a message", limits::mutations, "", "`bad_request`");
  expected += row("`request_id`", limits::request_id_bytes, " bytes", "`bad_request`");
  expected += row("`provenance`", limits::provenance_bytes, " bytes", "`bad_request`");
  expected += row("receipts of one answer", limits::receipts_per_answer, "", "ask again after the last one");
  expected += row("`cursor`", limits::cursor_bytes, " bytes", "`cursor_invalid`");
  expected += row("subscriptions of a socket", limits::subscriptions_per_socket, "", "`too_many_subscriptions`");
  expected += row("request header", limits::request_header_bytes, " bytes", "HTTP 431");
  expected +=
      row("time from connecting to the end of the request header", limits::handshake_time.count(), " s", "closed");
  expected += row("time from the upgrade to `hello`", limits::hello_time.count(), " s", "close 4001");
  expected += row("time in which nothing is heard from the client", limits::silence.count(), " s", "close 1001");
  expected +=
      row("time in which the client reads nothing of what waits", limits::no_progress.count(), " s", "close 4008");
  expected += row("control frames in a second", limits::control_frames_per_second, "", "close 4029");
  EXPECT_EQ(table("limits"), expected);
}

TEST(ProtocolDocs, every_error_code_and_reason_is_explained) {
  const std::string text = document();
  for (const ErrorCode code :
       {ErrorCode::bad_request, ErrorCode::invalid_value, ErrorCode::invalid_view, ErrorCode::duplicate_subscription,
        ErrorCode::too_many_subscriptions, ErrorCode::forbidden, ErrorCode::cursor_invalid,
        ErrorCode::sequence_conflict, ErrorCode::sequence_gap, ErrorCode::not_writable, ErrorCode::receipt_pruned,
        ErrorCode::unavailable, ErrorCode::bootstrap_timeout}) {
    EXPECT_THAT(text, ::testing::HasSubstr("| `" + std::string(name(code)) + "` |"));
  }
  for (const ResetReason reason :
       {ResetReason::history_pruned, ResetReason::history_diverged, ResetReason::view_changed,
        ResetReason::authorization_changed, ResetReason::state_unavailable}) {
    EXPECT_THAT(text, ::testing::HasSubstr("| `" + std::string(name(reason)) + "` |"));
  }
}

}  // namespace
}  // namespace viewgate::gateway
