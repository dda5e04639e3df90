#include "state/group_backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace queen::state {
namespace {

TEST(GroupBackoffTest, GrowsFromTheThresholdToTheLongest) {
  GroupBackoff backoff({.base_ms = 100, .max_ms = 1'000, .threshold = 3, .multiplier = 2.0});
  int64_t now = 1'000;
  backoff.Arm(now);
  backoff.Arm(now + 50);
  EXPECT_EQ(backoff.at_ms(), 1'100) << "the first who waits sets the time";
  std::vector<int64_t> intervals;
  for (int check = 0; check < 8; ++check) {
    now = backoff.at_ms();
    EXPECT_FALSE(backoff.ShouldCheck(now - 1));
    ASSERT_TRUE(backoff.ShouldCheck(now));
    EXPECT_TRUE(backoff.TryAcquire(now, false));
    intervals.push_back(backoff.at_ms() - now);
  }
  EXPECT_EQ(intervals, (std::vector<int64_t>{100, 100, 200, 400, 800, 1'000, 1'000, 1'000}));
  EXPECT_TRUE(backoff.backed_off());
}

TEST(GroupBackoffTest, WhateverWasThereBringsItBackToTheBase) {
  GroupBackoff backoff({.base_ms = 100, .max_ms = 1'000, .threshold = 1, .multiplier = 4.0});
  backoff.Arm(0);
  backoff.TryAcquire(100, false);
  backoff.Release(false);
  EXPECT_EQ(backoff.interval_ms(), 400);
  EXPECT_TRUE(backoff.backed_off());
  backoff.Release(true);
  EXPECT_EQ(backoff.interval_ms(), 100);
  EXPECT_FALSE(backoff.backed_off());
}

TEST(GroupBackoffTest, OneCheckAtATime) {
  GroupBackoff backoff({});
  backoff.Arm(1);
  EXPECT_FALSE(backoff.TryAcquire(200, true));
  EXPECT_GT(backoff.at_ms(), 200) << "the next one is set all the same";
  backoff.Disarm();
  backoff.Hurry(300);
  EXPECT_TRUE(backoff.ShouldCheck(300));
}

}  // namespace
}  // namespace queen::state
