#include "state/delivered_index.h"

#include <gtest/gtest.h>

namespace queen::state {
namespace {

DeliveredRange Range(int partition, const std::string& group, int from, int to) {
  DeliveredRange range{{partition}, "orders", "p", group, 7, {}, {}};
  for (int seq = from; seq < to; ++seq) range.Add("tx" + std::to_string(seq), seq);
  return range;
}

TEST(DeliveredIndex, FindsWhatWasDelivered) {
  DeliveredIndex index(1000);
  index.Add(Range(1, "g", 0, 10));
  const auto target = index.Find({1}, "g", "tx3");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->seq, 3);
  EXPECT_EQ(target->group_id, 7);
  EXPECT_EQ(target->queue_name, "orders");
  EXPECT_FALSE(index.Find({1}, "other", "tx3"));
  EXPECT_FALSE(index.Find({2}, "g", "tx3"));
  EXPECT_FALSE(index.Find({1}, "g", "tx10"));
}

TEST(DeliveredIndex, TellsUuidsFromTextThatOnlyLooksLikeThem) {
  DeliveredIndex index(1000);
  DeliveredRange range{{1}, "orders", "p", "g", 7, {}, {}};
  range.Add("0198c3a2-1b2c-7d3e-8f40-515253545556", 1);
  range.Add("0198C3A2-1B2C-7D3E-8F40-515253545556", 2);
  range.Add(*Uuid::Parse("0198c3a2-1b2c-7d3e-8f40-515253545557"), 3);
  index.Add(range);
  EXPECT_EQ(index.Find({1}, "g", "0198c3a2-1b2c-7d3e-8f40-515253545556")->seq, 1);
  EXPECT_EQ(index.Find({1}, "g", "0198C3A2-1B2C-7D3E-8F40-515253545556")->seq, 2);
  EXPECT_EQ(index.Find({1}, "g", "0198c3a2-1b2c-7d3e-8f40-515253545557")->seq, 3);
  EXPECT_FALSE(index.Find({1}, "g", "0198C3A2-1b2c-7d3e-8f40-515253545556"));
}

TEST(DeliveredIndex, ATransactionIdMeansTheMessageDeliveredLast) {
  DeliveredIndex index(1000);
  DeliveredRange range{{1}, "orders", "p", "g", 7, {}, {}};
  range.Add("again", 1);
  index.Add(range);
  range.texts = {{"again", 9}};
  index.Add(range);
  EXPECT_EQ(index.Find({1}, "g", "again")->seq, 9);
}

TEST(DeliveredIndex, IsBoundedAndForgetsTheOldest) {
  DeliveredIndex index(320);  // 11 per shard and generation
  index.Add(Range(1, "g", 0, 10));
  index.Add(Range(1, "g", 0, 10));  // redelivered: counted once
  EXPECT_EQ(index.size(), 10U);
  index.Add(Range(1, "g", 10, 20));
  index.Add(Range(1, "g", 20, 30));  // the generation before is still known
  EXPECT_EQ(index.size(), 30U);
  EXPECT_TRUE(index.Find({1}, "g", "tx0"));
  index.Add(Range(1, "g", 30, 40));
  index.Add(Range(1, "g", 40, 50));
  EXPECT_EQ(index.size(), 30U);
  EXPECT_FALSE(index.Find({1}, "g", "tx0"));
  EXPECT_TRUE(index.Find({1}, "g", "tx20"));
  EXPECT_TRUE(index.Find({1}, "g", "tx49"));
  index.Clear();
  EXPECT_EQ(index.size(), 0U);
  EXPECT_FALSE(index.Find({1}, "g", "tx49"));
}

TEST(DeliveredIndex, KnowsTheQueueOfAPartitionAndCountsLookups) {
  DeliveredIndex index(1000);
  EXPECT_EQ(index.QueueOf(PartitionId{3}), "");
  DeliveredRange range{PartitionId{3}, "orders", "p", "g", 1, {}, {}};
  range.Add("a", 5);
  index.Add(std::move(range));
  EXPECT_EQ(index.QueueOf(PartitionId{3}), "orders");
  EXPECT_TRUE(index.Find(PartitionId{3}, "g", "a"));
  EXPECT_FALSE(index.Find(PartitionId{3}, "g", "b"));
  EXPECT_FALSE(index.Find(PartitionId{4}, "g", "a"));
  EXPECT_EQ(index.lookups().hits, 1);
  EXPECT_EQ(index.lookups().misses, 2);
}

}  // namespace
}  // namespace queen::state
