// Which requests are written together: by hand, without a database.
#include "ledger/mutation_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace viewgate::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kBytes = 100;  // of each request

MutationQueueLimits limits() {
  MutationQueueLimits out;
  out.batch_max = 100;
  out.batch_bytes_max = 100 * kBytes;
  out.waiting_max = 6;
  out.waiting_bytes_max = 1000 * kBytes;
  return out;
}

PendingMutation request(const std::string& space, std::int64_t number, const std::string& principal = "ann") {
  PendingMutation out;
  out.request.principal = principal;
  out.request.space = space;
  out.request.number = number;
  out.bytes = kBytes;
  return out;
}

std::vector<std::string> told(const PendingBatch& batch) {
  std::vector<std::string> out;
  for (const PendingMutation& each : batch.pending) {
    out.push_back(each.request.space + std::to_string(each.request.number));
  }
  return out;
}

TEST(MutationQueue, a_batch_has_the_requests_in_their_order_and_the_spaces_in_the_order_of_their_names) {
  MutationQueue queue(limits());
  for (const auto& [space, number] : {std::pair("b", 1), {"a", 1}, {"b", 2}}) queue.add(request(space, number));
  EXPECT_EQ(queue.waiting(), 3U);
  const PendingBatch batch = queue.take();
  EXPECT_THAT(told(batch), ElementsAre("b1", "b2", "a1"));
  EXPECT_THAT(batch.content.spaces, ElementsAre("a", "b"));
  ASSERT_EQ(batch.content.requests.size(), 3U);
  EXPECT_EQ(batch.content.requests[0].space, 1U);
  EXPECT_EQ(batch.content.requests[2].space, 0U);
  EXPECT_EQ(batch.content.requests[2].request, &batch.pending[2].request);
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(MutationQueue, a_space_that_is_written_is_not_taken_again_before_it_is_finished) {
  MutationQueue queue(limits());
  queue.add(request("a", 1));
  const PendingBatch first = queue.take();
  queue.add(request("a", 2));
  EXPECT_FALSE(queue.is_ready());
  queue.finish(first.content.spaces);
  EXPECT_THAT(told(queue.take()), ElementsAre("a2"));
}

TEST(MutationQueue, what_is_given_back_comes_before_what_came_later) {
  MutationQueue queue(limits());
  for (const int number : {1, 2, 3}) queue.add(request("a", number));
  PendingBatch batch = queue.take();
  queue.add(request("a", 4));
  queue.give_back(batch, 1);
  EXPECT_THAT(told(batch), ElementsAre("a1"));
  queue.finish(batch.content.spaces);
  EXPECT_THAT(told(queue.take()), ElementsAre("a2", "a3", "a4"));
}

TEST(MutationQueue, a_space_that_is_kept_alone_shares_its_next_batch_with_none) {
  MutationQueue queue(limits());
  queue.add(request("a", 1));
  queue.add(request("b", 1));
  PendingBatch shared = queue.take();
  queue.keep_alone(shared.content.spaces);
  queue.give_back(shared, 0);
  EXPECT_THAT(told(shared), IsEmpty());
  queue.finish({"a", "b"});
  const PendingBatch first = queue.take();
  const PendingBatch second = queue.take();
  EXPECT_THAT(told(first), ElementsAre("a1"));
  EXPECT_THAT(told(second), ElementsAre("b1"));
  // And only that one.
  queue.finish({"a", "b"});
  queue.add(request("a", 2));
  queue.add(request("b", 2));
  EXPECT_THAT(told(queue.take()), ElementsAre("a2", "b2"));
}

TEST(MutationQueue, a_batch_ends_at_its_limits_and_the_rest_waits) {
  MutationQueueLimits small = limits();
  small.batch_bytes_max = 2 * kBytes;
  MutationQueue queue(small);
  for (const int number : {1, 2, 3}) queue.add(request("a", number));
  const PendingBatch batch = queue.take();
  EXPECT_THAT(told(batch), ElementsAre("a1", "a2"));
  queue.finish({"a"});
  EXPECT_THAT(told(queue.take()), ElementsAre("a3"));
}

TEST(MutationQueue, a_request_above_the_batch_s_bytes_is_taken_by_itself) {
  MutationQueueLimits small = limits();
  small.batch_bytes_max = kBytes / 2;
  MutationQueue queue(small);
  queue.add(request("a", 1));
  queue.add(request("b", 1));
  EXPECT_THAT(told(queue.take()), ElementsAre("a1"));
  EXPECT_THAT(told(queue.take()), ElementsAre("b1"));
}

TEST(MutationQueue, has_room_up_to_a_number_of_requests_of_a_space_and_bytes_of_all) {
  MutationQueueLimits small = limits();
  small.waiting_max = 3;
  small.waiting_bytes_max = 5 * kBytes;
  MutationQueue queue(small);
  for (const std::string name : {"ann", "bob", "cid"}) queue.add(request("a", 1, name));
  EXPECT_FALSE(queue.has_room_for("a", "dan", kBytes));
  EXPECT_TRUE(queue.has_room_for("b", "dan", 2 * kBytes));
  EXPECT_FALSE(queue.has_room_for("b", "dan", 2 * kBytes + 1));
  static_cast<void>(queue.take());
  EXPECT_TRUE(queue.has_room_for("a", "dan", kBytes));
}

TEST(MutationQueue, a_principal_fills_half_of_a_space_s_room_and_others_find_some) {
  MutationQueue queue(limits());  // of six
  for (const int number : {1, 2, 3}) {
    EXPECT_TRUE(queue.has_room_for("a", "ann", kBytes)) << number;
    queue.add(request("a", number));
  }
  EXPECT_FALSE(queue.has_room_for("a", "ann", kBytes));
  EXPECT_TRUE(queue.has_room_for("b", "ann", kBytes)) << "another space has room of its own";
  EXPECT_TRUE(queue.has_room_for("a", "bob", kBytes));
  PendingBatch batch = queue.take();
  EXPECT_TRUE(queue.has_room_for("a", "ann", kBytes));
  queue.give_back(batch, 0);
  EXPECT_FALSE(queue.has_room_for("a", "ann", kBytes));
}

TEST(MutationQueue, a_principal_fills_half_of_all_bytes_and_others_find_some) {
  MutationQueueLimits small = limits();
  small.waiting_bytes_max = 4 * kBytes;
  MutationQueue queue(small);
  for (const std::string space : {"a", "b"}) queue.add(request(space, 1));
  EXPECT_FALSE(queue.has_room_for("c", "ann", kBytes));
  EXPECT_TRUE(queue.has_room_for("c", "bob", kBytes));
  static_cast<void>(queue.take());
  EXPECT_TRUE(queue.has_room_for("c", "ann", kBytes));
}

TEST(MutationQueue, half_of_many_spaces_are_left_to_a_second_batch) {
  MutationQueue queue(limits());
  for (int i = 0; i < 40; ++i) queue.add(request("s" + std::to_string(i), 1));
  const PendingBatch first = queue.take();
  const PendingBatch second = queue.take();
  EXPECT_EQ(first.pending.size(), 20U);
  EXPECT_EQ(second.pending.size(), 16U);
  EXPECT_EQ(queue.waiting(), 4U);
}

}  // namespace
}  // namespace viewgate::ledger
