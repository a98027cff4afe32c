// What every row of the fault table demands besides its own outcome: the process lives, a good client gets its commit (in the time that
// a test waits for anything), no socket and no descriptor stays behind, and memory is where it was.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "loadtest/process_use.hpp"
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
    EXPECT_TRUE(eventually([&] { return use().descriptors <= before_.descriptors + connections_max; }))
        << use().descriptors << " descriptors, before there were " << before_.descriptors;
    EXPECT_LE(use().rss_bytes, before_.rss_bytes + kept_bytes_max);
    if (HasFailure()) std::cerr << log_end();
  }
  std::string log_end() {
    constexpr std::size_t shown = 3000;
    const std::string log = line.gateway().log();
    return log.substr(log.size() - std::min(log.size(), shown));
  }

  Line& line = Line::shared();

 private:
  /// Of the gateway to its database, which are opened when they are needed and stay.
  static constexpr std::uint64_t connections_max = 16;
  /// Rings of views and spaces that linger, and what the allocator keeps. A sanitizer keeps what was freed for a while.
  static constexpr std::uint64_t kept_bytes_max = memory_factor * (std::uint64_t{192} << 20);

  loadtest::ProcessUse use() { return loadtest::process_use(line.gateway().process().pid()); }

  const loadtest::ProcessUse before_ = use();
};

}  // namespace viewgate::testing
