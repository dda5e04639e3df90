#include "batch_queue.h"

#include <gtest/gtest.h>

namespace queen::client {
namespace {

using std::chrono::milliseconds;

PendingMessage Sized(size_t bytes, std::string payload = "null") {
  PendingMessage pending;
  pending.message.payload = std::move(payload);
  pending.bytes = bytes;
  return pending;
}

ProducerOptions Limits(size_t messages, size_t bytes, int linger_ms) {
  ProducerOptions options;
  options.batch_messages = messages;
  options.batch_bytes = bytes;
  options.linger = milliseconds(linger_ms);
  return options;
}

constexpr BatchQueue::Time kStart{};

TEST(BatchQueue, LeavesWhenItIsFullByCount) {
  BatchQueue queue(Limits(2, 1'000, 50));
  queue.Add(Sized(1), kStart);
  EXPECT_FALSE(queue.IsDue(kStart));
  queue.Add(Sized(1), kStart);
  EXPECT_TRUE(queue.IsDue(kStart));
  queue.Add(Sized(1), kStart);
  EXPECT_EQ(queue.Take().size(), 2U);
  EXPECT_FALSE(queue.IsDue(kStart));
  EXPECT_EQ(queue.Take().size(), 1U);
  EXPECT_TRUE(queue.empty());
}

TEST(BatchQueue, LeavesWhenItIsFullByBytes) {
  BatchQueue queue(Limits(100, 10, 50));
  queue.Add(Sized(6), kStart);
  EXPECT_FALSE(queue.IsDue(kStart));
  queue.Add(Sized(6), kStart);
  EXPECT_TRUE(queue.IsDue(kStart));
  EXPECT_EQ(queue.Take().size(), 1U);  // both would be 12 bytes
  EXPECT_EQ(queue.Take().size(), 1U);
}

TEST(BatchQueue, AMessageLargerThanABatchGoesAlone) {
  BatchQueue queue(Limits(100, 10, 50));
  queue.Add(Sized(50, "1"), kStart);
  queue.Add(Sized(1, "2"), kStart);
  const auto batch = queue.Take();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].message.payload, "1");
}

TEST(BatchQueue, LeavesWhenItsOldestHasWaited) {
  BatchQueue queue(Limits(100, 1'000, 50));
  EXPECT_EQ(queue.due_at(), std::nullopt);
  queue.Add(Sized(1), kStart);
  queue.Add(Sized(1), kStart + milliseconds(40));
  EXPECT_EQ(queue.due_at(), kStart + milliseconds(50));
  EXPECT_FALSE(queue.IsDue(kStart + milliseconds(49)));
  EXPECT_TRUE(queue.IsDue(kStart + milliseconds(50)));
}

TEST(BatchQueue, AFlushHurriesWhatIsThereAndNothingLater) {
  BatchQueue slow(Limits(100, 1'000, 50));
  slow.Add(Sized(1, "1"), kStart);
  slow.Hurry();
  EXPECT_TRUE(slow.IsDue(kStart));
  EXPECT_EQ(slow.Take().size(), 1U);
  slow.Add(Sized(1, "2"), kStart);
  EXPECT_FALSE(slow.IsDue(kStart));
}

TEST(BatchQueue, KeepsTheOrder) {
  BatchQueue queue(Limits(3, 1'000, 50));
  for (int i = 0; i < 7; ++i) queue.Add(Sized(1, std::to_string(i)), kStart);
  std::string order;
  while (!queue.empty()) {
    for (const PendingMessage& pending : queue.Take()) order += pending.message.payload;
  }
  EXPECT_EQ(order, "0123456");
}

}  // namespace
}  // namespace queen::client
