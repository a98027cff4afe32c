// What every row of the fault table demands besides its own outcome: the process lives, a good client works, and no
// descriptor stays behind.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "support/line.hpp"

namespace viewgate::testing {

/// An honest client of this gateway: connects, opens a view, sees a write of this moment arrive, and leaves.
inline void expect_a_good_client_works(Line& line, std::uint16_t port) {
  const std::string space = line.new_space();
  WsClient client(port, line.reader("good"));
  const Opened opened = client.open({.space = space});
  EXPECT_THAT(opened.records, ::testing::IsEmpty());
  line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
  const Document commit = client.next_of("commit");
  EXPECT_THAT(commit.text, ::testing::HasSubstr("\"entered\""));
}

class Row : public ::testing::Test {
 protected:
  void SetUp() override {
    expect_a_good_client_works(line, line.port());
    // The good client's own socket is closed in a moment.
    descriptors_ = line.gateway().descriptors();
    eventually([&] {
      const std::uint64_t now = line.gateway().descriptors();
      const bool same = now >= descriptors_;
      descriptors_ = now;
      return same;
    });
  }
  void TearDown() override {
    EXPECT_TRUE(line.gateway().process().running());
    expect_a_good_client_works(line, line.port());
    EXPECT_TRUE(eventually([&] { return line.gateway().descriptors() <= descriptors_; }))
        << line.gateway().descriptors() << " descriptors, before the row there were " << descriptors_;
    if (HasFailure()) std::cerr << line.gateway().log().substr(0, 20000);
  }

  Line& line = Line::shared();

 private:
  std::uint64_t descriptors_ = 0;
};

}  // namespace viewgate::testing
