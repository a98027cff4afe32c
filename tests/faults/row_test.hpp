// What every row of the fault table demands besides its own outcome: the process lives, a good client works, and no
// descriptor stays behind.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
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
  void TearDown() override {
    EXPECT_TRUE(line.gateway().process().running());
    expect_a_good_client_works(line, line.port());
    EXPECT_TRUE(eventually([&] { return line.gateway().client_sockets() == 0; }))
        << line.gateway().client_sockets() << " sockets stay behind";
    if (HasFailure()) std::cerr << log_end();
  }
  std::string log_end() {
    constexpr std::size_t shown = 3000;
    const std::string log = line.gateway().log();
    return log.substr(log.size() - std::min(log.size(), shown));
  }

  Line& line = Line::shared();
};

}  // namespace viewgate::testing
