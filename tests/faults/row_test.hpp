// What every row of the fault table demands besides its own outcome, of each gateway that a test had and has not ended itself: the
// process lives, no socket and no descriptor stays behind, memory is where it was, and a good client gets its commit about as fast
// as before.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "support/line.hpp"

namespace viewgate::testing {

inline void expect_a_good_client_works(Line& line, std::uint16_t port) { line.serve_a_good_client(port); }

/// Looks at gateways as their tests let go of them.
class Watched : public ::testing::Test {
 protected:
  Watched() {
    GatewayProcess::before_end = [](GatewayProcess& gateway) { expect_unharmed(gateway, gateway.use_at_start()); };
  }
  ~Watched() override { GatewayProcess::before_end = {}; }

  static void expect_unharmed(GatewayProcess& gateway, const loadtest::ProcessUse& before) {
    EXPECT_TRUE(gateway.process().running());
    EXPECT_TRUE(eventually([&] { return gateway.client_sockets() == 0; }))
        << gateway.client_sockets() << " sockets stay behind";
    if (gateway.options().good_client) expect_quick(gateway);
    EXPECT_TRUE(eventually([&] { return gateway.use().descriptors <= before.descriptors + connections_max; }))
        << gateway.use().descriptors << " descriptors, before there were " << before.descriptors;
    EXPECT_TRUE(eventually([&] { return gateway.use().rss_bytes <= before.rss_bytes + kept_bytes_max; }))
        << gateway.use().rss_bytes << " bytes, before there were " << before.rss_bytes;
  }

  /// A gateway that was harmed is slow each time; a machine that is busy with something else only now and then.
  static void expect_quick(GatewayProcess& gateway) {
    static auto best = std::chrono::milliseconds::max();  // of this program
    std::string came;
    const auto is_quick = [&] {
      try {
        const auto latest = gateway.options().good_client(gateway.port());
        best = std::min(best, latest);
        came = "a commit takes " + std::to_string(latest.count()) + " ms";
        return latest <= slowness * std::max<std::chrono::milliseconds>(20 * best, std::chrono::seconds(1));
      } catch (const std::exception& refused) {  // what the test did may keep its address out for a moment
        came = refused.what();
        return false;
      }
    };
    EXPECT_TRUE(eventually(is_quick)) << "of a good client: " << came << "; the quickest took " << best.count()
                                      << " ms";
  }

 private:
  /// Of the gateway to its database, which are opened when they are needed and stay.
  static constexpr std::uint64_t connections_max = 16;
  /// Rings of views and spaces that linger, and what the allocator keeps. A sanitizer keeps what was freed for a while.
  static constexpr std::uint64_t kept_bytes_max = memory_factor * (std::uint64_t{192} << 20);
};

/// In front of the line that the tests of a program share, whose gateway is looked at after each of them.
class Row : public Watched {
 protected:
  Row() {
    static const bool is_measured = [this] {
      expect_quick(line.gateway());
      return true;
    }();
    EXPECT_TRUE(is_measured);
  }
  void TearDown() override {
    expect_unharmed(line.gateway(), before_);
    if (HasFailure()) std::cerr << log_end();
  }
  std::string log_end() {
    constexpr std::size_t shown = 3000;
    const std::string log = line.gateway().log();
    return log.substr(log.size() - std::min(log.size(), shown));
  }

  Line& line = Line::shared();

 private:
  const loadtest::ProcessUse before_ = line.gateway().use();
};

}  // namespace viewgate::testing
