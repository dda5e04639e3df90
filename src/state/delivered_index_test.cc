#include "state/delivered_index.h"

#include <gtest/gtest.h>

namespace queen::state {
namespace {

DeliveredRange Range(int partition, const std::string& group, int from, int to) {
  DeliveredRange range{{partition}, "orders", "p", group, 7, {}};
  for (int seq = from; seq < to; ++seq)
    range.messages.emplace_back("tx" + std::to_string(seq), seq);
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

TEST(DeliveredIndex, IsBoundedAndForgetsTheOldest) {
  DeliveredIndex index(160);  // 11 per shard
  index.Add(Range(1, "g", 0, 100));
  index.Add(Range(1, "g", 95, 100));  // redelivered: counted once
  EXPECT_EQ(index.size(), 11U);
  EXPECT_TRUE(index.Find({1}, "g", "tx99"));
  EXPECT_FALSE(index.Find({1}, "g", "tx0"));
  index.Clear();
  EXPECT_EQ(index.size(), 0U);
  EXPECT_FALSE(index.Find({1}, "g", "tx99"));
}

}  // namespace
}  // namespace queen::state
