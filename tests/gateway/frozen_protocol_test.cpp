// Row 68, documents: in a rolling deploy a client of a frozen version talks to this one and the other way round. The examples of that
// version (tests/golden/frozen) are read here, and what this version writes is put to a reader that knows no more than that version
// did (members.txt): on its side of the conversation a client skips what it does not know, a server refuses it.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "gateway/golden_files.hpp"
#include "gateway/json_text.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

using test::golden_files;
using test::GoldenFile;

struct Member {
  JsonKind kind = JsonKind::null;
  bool may_be_absent = false;
};
using Members = std::map<std::string, Member, std::less<>>;

JsonKind kind_named(const std::string& name) {
  static const std::map<std::string, JsonKind> kinds{{"string", JsonKind::string},
                                                     {"number", JsonKind::number},
                                                     {"boolean", JsonKind::boolean},
                                                     {"array", JsonKind::array},
                                                     {"object", JsonKind::object}};
  return kinds.at(name);
}

/// By "server commit", "element events", "client hello".
const std::map<std::string, Members>& frozen_members() {
  static const auto out = [] {
    std::map<std::string, Members> all;
    std::istringstream lines(test::file_text(VIEWGATE_SOURCE_DIR "/tests/golden/frozen/members.txt"));
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line.starts_with('#')) continue;
      std::istringstream words(line);
      std::string side, what;
      words >> side >> what;
      Members& members = all[side + " " + what];
      for (std::string word; words >> word;) {
        const std::size_t colon = word.find(':');
        std::string name = word.substr(0, colon);
        const bool may_be_absent = name.ends_with('?');
        if (may_be_absent) name.pop_back();
        members[name] = {kind_named(word.substr(colon + 1)), may_be_absent};
      }
    }
    return all;
  }();
  return out;
}

enum class Unknown : std::uint8_t { skipped, refused };

/// What the frozen reader has against an object; empty: it takes it.
std::string objection(const std::string& what, std::string_view object, Unknown unknown) {
  const auto found = frozen_members().find(what);
  if (found == frozen_members().end()) return unknown == Unknown::skipped ? "" : what + " is not known";
  Members missing = found->second;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    if (member->name == "type") continue;
    const auto known = found->second.find(member->name);
    if (known == found->second.end()) {
      if (unknown == Unknown::refused) return what + ": " + std::string(member->name) + " is not known";
      continue;
    }
    if (known->second.kind != member->kind) return what + ": " + std::string(member->name) + " is of another kind";
    missing.erase(std::string(member->name));
    if (member->kind != JsonKind::array || !frozen_members().contains("element " + std::string(member->name))) continue;
    JsonSlicer elements(member->value);
    while (const auto element = elements.next()) {
      const std::string inner = objection("element " + std::string(member->name), element->value, unknown);
      if (!inner.empty()) return inner;
    }
  }
  for (const auto& [name, member] : missing) {
    if (!member.may_be_absent) return what + ": " + name + " is missing";
  }
  return {};
}

std::string type_of(const GoldenFile& file) { return std::string(view_document(file.text).value().type); }

TEST(FrozenProtocol, row_68_documents_of_the_frozen_version_are_read) {
  const auto documents = golden_files("", "frozen/protocol");
  EXPECT_EQ(documents.size(), 37U);
  for (const GoldenFile& file : documents) {
    if (file.name.starts_with("client_")) {
      EXPECT_TRUE(std::holds_alternative<ClientMessage>(parse_client_message(file.text))) << file.name;
    } else {
      const auto read = parse_server_document(file.text);
      ASSERT_TRUE(read) << file.name;
      EXPECT_FALSE(std::holds_alternative<UnknownDocument>(*read)) << file.name;
    }
  }
}

TEST(FrozenProtocol, row_68_the_frozen_reader_takes_its_own_documents_and_knows_each_member_of_them) {
  for (const GoldenFile& file : golden_files("", "frozen/protocol")) {
    const std::string side = file.name.substr(0, file.name.find('_'));
    EXPECT_EQ(objection(side + " " + type_of(file), file.text, Unknown::refused), "") << file.name;
  }
}

TEST(FrozenProtocol, row_68_the_frozen_reader_takes_what_this_version_writes) {
  for (const GoldenFile& file : golden_files("server_")) {
    EXPECT_EQ(objection("server " + type_of(file), file.text, Unknown::skipped), "") << file.name;
  }
  for (const GoldenFile& file : golden_files("client_")) {
    EXPECT_EQ(objection("client " + type_of(file), file.text, Unknown::refused), "") << file.name;
  }
}

TEST(FrozenProtocol, row_68_what_a_later_version_may_add_is_skipped_and_what_it_may_not_drop_is_missed) {
  for (const GoldenFile& file : golden_files("server_", "frozen/protocol")) {
    const std::string more = R"({"later":{"a":[1]},)" + file.text.substr(1);
    EXPECT_EQ(objection("server " + type_of(file), more, Unknown::skipped), "") << file.name;
    const auto read = parse_server_document(more);
    ASSERT_TRUE(read) << file.name;
    EXPECT_EQ(read->index(), parse_server_document(file.text)->index()) << file.name;
  }
  EXPECT_EQ(objection("server progress", R"({"type":"progress","channel":"c","sequence":"1"})", Unknown::skipped),
            "server progress: position is missing");
  EXPECT_EQ(objection("server drain", R"({"type":"drain","reconnect_after":"1"})", Unknown::skipped),
            "server drain: reconnect_after is of another kind");
  EXPECT_EQ(objection("client pong", R"({"type":"pong","later":1})", Unknown::refused),
            "client pong: later is not known");
}

}  // namespace
}  // namespace viewgate::gateway
