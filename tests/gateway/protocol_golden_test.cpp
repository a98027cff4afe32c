// Every message of the protocol has an example in tests/golden/protocol, one line each. They are read and written again
// byte for byte here; the TypeScript client's tests read the same files.
#include <gtest/gtest.h>

#include <set>

#include "gateway/golden_files.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

using test::golden_files;
using test::GoldenFile;

template <class... Alternatives>
std::string written(const std::variant<Alternatives...>& message) {
  std::string out;
  std::visit(
      [&out](const auto& alternative) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(alternative)>, UnknownDocument>) {
          append_document(out, alternative);
        }
      },
      message);
  return out;
}

TEST(ProtocolGolden, client_messages_are_read_and_written_byte_for_byte) {
  std::set<std::size_t> kinds;
  for (const GoldenFile& file : golden_files("client_")) {
    const ParsedClientMessage parsed = parse_client_message(file.text);
    const auto* const message = std::get_if<ClientMessage>(&parsed);
    ASSERT_NE(message, nullptr) << file.name;
    EXPECT_EQ(written(*message), file.text) << file.name;
    kinds.insert(message->index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<ClientMessage>) << "each message has an example";
}

TEST(ProtocolGolden, server_documents_are_read_and_written_byte_for_byte) {
  std::set<std::size_t> kinds;
  for (const GoldenFile& file : golden_files("server_")) {
    const std::optional<ServerMessage> message = parse_server_document(file.text);
    ASSERT_TRUE(message) << file.name;
    ASSERT_FALSE(std::holds_alternative<UnknownDocument>(*message)) << file.name;
    EXPECT_EQ(written(*message), file.text) << file.name;
    kinds.insert(message->index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<ServerMessage> - 1) << "each document has an example";
}

TEST(ProtocolGolden, every_example_is_the_type_that_its_name_says) {
  for (const GoldenFile& file : golden_files("")) {
    const std::optional<DocumentView> view = view_document(file.text);
    ASSERT_TRUE(view) << file.name;
    EXPECT_EQ(file.name.substr(file.name.find('_') + 1, view->type.size()), view->type);
  }
}

}  // namespace
}  // namespace viewgate::gateway
