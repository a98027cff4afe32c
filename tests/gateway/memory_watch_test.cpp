// What a process may have of memory, and when that is nearly all.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gateway/memory_watch.hpp"

namespace viewgate::gateway {
namespace {

using namespace std::chrono_literals;

TEST(MemoryBounds, nine_tenths_of_either_are_nearly_all_and_without_a_bound_nothing_is) {
  const MemoryBounds both{1000, 5000};
  EXPECT_FALSE(both.nearly_reached_by({900, 4500}));
  EXPECT_TRUE(both.nearly_reached_by({901, 0}));
  EXPECT_TRUE(both.nearly_reached_by({0, 4501}));
  EXPECT_FALSE(MemoryBounds{}.nearly_reached_by({std::uint64_t{1} << 50, std::uint64_t{1} << 50}));
}

TEST(MemoryBounds, a_control_group_of_version_two_has_a_number_or_none) {
  const auto root = std::filesystem::temp_directory_path() / ("viewgate_groups_" + std::to_string(::getpid()));
  std::filesystem::create_directories(root / "system.slice" / "a.service");
  std::ofstream(root / "system.slice" / "a.service" / "memory.max") << "268435456\n";
  std::ofstream(root / "system.slice" / "memory.max") << "max\n";
  const std::string path = root.string();
  EXPECT_EQ(group_memory_max("0::/system.slice/a.service\n", path), 268435456U);
  EXPECT_EQ(group_memory_max("12:cpu:/x\n0::/system.slice/a.service\n", path), 268435456U);
  EXPECT_EQ(group_memory_max("0::/system.slice\n", path), 0U);
  EXPECT_EQ(group_memory_max("0::/\n", path), 0U) << "the root of all";
  EXPECT_EQ(group_memory_max("4:memory:/system.slice/a.service\n", path), 0U) << "version one";
  EXPECT_EQ(group_memory_max("", path), 0U);
  std::filesystem::remove_all(root);
}

TEST(MemoryBounds, this_process_is_read) {
  const MemoryUse use = read_memory_use();
  EXPECT_GT(use.resident, 1'000'000U);
  EXPECT_GE(use.address_space, use.resident);
  EXPECT_EQ(memory_bounds(12345).resident, 12345U);
}

TEST(MemoryWatch, it_looks_now_and_then_and_asks_for_what_is_only_kept_once_a_second) {
  MemoryUse use{500, 0};
  int looks = 0;
  int told = 0;
  MemoryWatch watch(
      {1000, 0}, [&] { return ++looks, use; }, [&] { ++told; });
  auto now = MemoryWatch::Time{} + 1h;
  EXPECT_FALSE(watch.is_short(now));
  use.resident = 950;
  EXPECT_FALSE(watch.is_short(now)) << "it was looked at just now";
  now += 200ms;
  EXPECT_TRUE(watch.is_short(now));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(watch.is_short(now));
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(told, 1);
  now += 1s;
  EXPECT_TRUE(watch.is_short(now));
  EXPECT_EQ(told, 2);
  use.resident = 500;
  now += 200ms;
  EXPECT_FALSE(watch.is_short(now));
  MemoryWatch without(
      {}, [&] { return ++looks, use; }, [&] { ++told; });
  EXPECT_FALSE(without.is_short(now));
  EXPECT_EQ(looks, 4) << "where there is no bound nobody looks";
}

}  // namespace
}  // namespace viewgate::gateway
