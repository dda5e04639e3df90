#include "state/queue_activity.h"

#include <gtest/gtest.h>

#include <map>

namespace queen::state {
namespace {

std::map<std::string, QueueTotals> ByName(const QueueActivity& activity) {
  std::map<std::string, QueueTotals> by_name;
  for (const QueueActivityEntry& entry : activity.Snapshot()) {
    EXPECT_TRUE(by_name.emplace(entry.queue, entry.totals).second) << entry.queue;
  }
  return by_name;
}

TEST(QueueActivity, CountsPerQueue) {
  QueueActivity activity;
  activity.Of("a").pushed += 3;
  activity.Of("b").popped += 2;
  activity.Of("a").pushed += 1;
  const auto totals = ByName(activity);
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals.at("a").pushed, 4);
  EXPECT_EQ(totals.at("b").popped, 2);
}

TEST(QueueActivity, QueuesBeyondTheLimitShareOneName) {
  QueueActivity activity(10);
  for (int i = 0; i < 25; ++i) ++activity.Of("q" + std::to_string(i)).pushed;
  for (int i = 0; i < 25; ++i) ++activity.Of("q" + std::to_string(i)).acked;
  const auto totals = ByName(activity);
  EXPECT_EQ(totals.size(), 11U);
  EXPECT_EQ(totals.at("").pushed, 15);
  EXPECT_EQ(totals.at("").acked, 15);
  EXPECT_EQ(totals.at("q3").pushed, 1);
}

TEST(QueueActivity, NamesThatWereOnlyAskedForTakeFewPlaces) {
  QueueActivity activity(100);
  for (int i = 0; i < 1000; ++i) ++activity.OfAsked("junk" + std::to_string(i)).empty_pops;
  EXPECT_EQ(activity.size(), 10U);
  for (int i = 0; i < 90; ++i) ++activity.Of("real" + std::to_string(i)).pushed;
  EXPECT_EQ(activity.size(), 100U);
  EXPECT_EQ(ByName(activity).at("real89").pushed, 1);
}

TEST(QueueActivity, AQueueThatTurnsOutToExistLeavesItsPlaceToOthers) {
  QueueActivity activity(10);  // one place for a name that was asked for
  ++activity.OfAsked("a").empty_pops;
  ++activity.OfAsked("b").empty_pops;
  ++activity.Of("a").pushed;
  ++activity.OfAsked("c").empty_pops;
  const auto totals = ByName(activity);
  EXPECT_EQ(totals.at("a").empty_pops, 1);
  EXPECT_EQ(totals.at("a").pushed, 1);
  EXPECT_EQ(totals.count("b"), 0U);
  EXPECT_EQ(totals.at("c").empty_pops, 1);
}

TEST(QueueActivity, TotalsAddUpAndTheLargestAgeBeginsAnew) {
  QueueActivity activity;
  QueueTotals& totals = activity.Of("a");
  totals.Add({.pushed = 1, .age_count = 1, .age_sum_ms = 70, .age_max_ms = 70});
  totals.Add({.pushed = 2, .age_count = 1, .age_sum_ms = 30, .age_max_ms = 30});
  EXPECT_EQ(ByName(activity).at("a").age_max_ms, 70);
  EXPECT_EQ(ByName(activity).at("a").age_sum_ms, 100);
  activity.RestartAgeMax();
  EXPECT_EQ(ByName(activity).at("a").age_max_ms, 0);
  EXPECT_EQ(ByName(activity).at("a").pushed, 3);
}

}  // namespace
}  // namespace queen::state
