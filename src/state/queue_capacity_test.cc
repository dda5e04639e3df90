#include "state/queue_capacity.h"

#include <gtest/gtest.h>

#include <thread>

namespace queen::state {
namespace {

constexpr QueueId kId{7};

int AdmitUpTo(QueueCapacity& capacity, int wanted) {
  int admitted = 0;
  for (int i = 0; i < wanted; ++i) admitted += capacity.Admit("q") ? 1 : 0;
  return admitted;
}

void SettleAll(QueueCapacity& capacity, int count, bool stored) {
  for (int i = 0; i < count; ++i) capacity.Settle("q", stored);
}

TEST(QueueCapacity, WithoutALimitEverythingFits) {
  QueueCapacity capacity;
  EXPECT_FALSE(capacity.any());
  EXPECT_EQ(AdmitUpTo(capacity, 1000), 1000);
  capacity.Learn({"other", kId, 1});
  EXPECT_TRUE(capacity.any());
  EXPECT_EQ(AdmitUpTo(capacity, 1000), 1000);
}

TEST(QueueCapacity, WhatIsOnItsWayCounts) {
  QueueCapacity capacity;
  capacity.Learn({"q", kId, 3});
  EXPECT_EQ(AdmitUpTo(capacity, 5), 3);
  SettleAll(capacity, 2, true);
  EXPECT_EQ(AdmitUpTo(capacity, 5), 0);
  capacity.Settle("q", false);  // it was not stored: its place is free again
  EXPECT_EQ(AdmitUpTo(capacity, 5), 1);
}

TEST(QueueCapacity, AMeasurementReplacesWhatWasStoredBeforeIt) {
  QueueCapacity capacity;
  capacity.Learn({"q", kId, 10});
  EXPECT_EQ(AdmitUpTo(capacity, 8), 8);
  SettleAll(capacity, 6, true);
  EXPECT_EQ(capacity.BeginMeasuring(), std::vector<QueueId>{kId});
  SettleAll(capacity, 1, true);  // stored meanwhile: the measurement may not have seen it
  capacity.EndMeasuring(kId, 2);
  // 2 measured + 1 stored since + 1 on its way
  EXPECT_EQ(AdmitUpTo(capacity, 10), 6);
}

TEST(QueueCapacity, FullUntilAMeasurementSaysOtherwise) {
  QueueCapacity capacity;
  capacity.Learn({"q", kId, 2});
  capacity.BeginMeasuring();
  capacity.EndMeasuring(kId, 5);
  EXPECT_FALSE(capacity.Admit("q"));
  capacity.BeginMeasuring();
  capacity.EndMeasuring(kId, 1);
  EXPECT_TRUE(capacity.Admit("q"));
  EXPECT_FALSE(capacity.Admit("q"));
}

TEST(QueueCapacity, AQuietQueueIsNotMeasuredAndNotBelievedFull) {
  QueueCapacity capacity;
  capacity.Learn({"q", kId, 2});
  capacity.BeginMeasuring();
  capacity.EndMeasuring(kId, 2);
  EXPECT_FALSE(capacity.Admit("q"));
  for (int i = 0; i < QueueCapacity::kQuietMeasurementsMax; ++i) {
    EXPECT_EQ(capacity.BeginMeasuring().size(), 1U);
    capacity.EndMeasuring(kId, 2);
  }
  EXPECT_TRUE(capacity.BeginMeasuring().empty());
  EXPECT_TRUE(capacity.Admit("q"));
  EXPECT_EQ(capacity.BeginMeasuring().size(), 1U);
}

TEST(QueueCapacity, AListingBringsAndTakesLimits) {
  QueueCapacity capacity;
  capacity.EndListing(capacity.BeginListing(), {{"q", kId, 1}, {"r", QueueId{8}, 5}});
  EXPECT_EQ(AdmitUpTo(capacity, 5), 1);
  capacity.EndListing(capacity.BeginListing(), {{"q", kId, 3}});
  EXPECT_EQ(AdmitUpTo(capacity, 5), 2);
  EXPECT_EQ(capacity.BeginMeasuring(), std::vector<QueueId>{kId});
  capacity.EndListing(capacity.BeginListing(), {});
  EXPECT_FALSE(capacity.any());
  EXPECT_EQ(AdmitUpTo(capacity, 5), 5);
}

TEST(QueueCapacity, WhatIsConfiguredDuringAListingIsYounger) {
  QueueCapacity capacity;
  int64_t begun = capacity.BeginListing();
  capacity.Learn({"q", kId, 1});
  capacity.EndListing(begun, {});
  EXPECT_EQ(AdmitUpTo(capacity, 5), 1);

  begun = capacity.BeginListing();
  capacity.Learn({"q", kId, 3});
  capacity.EndListing(begun, {{"q", kId, 1}});
  EXPECT_EQ(AdmitUpTo(capacity, 5), 2);

  begun = capacity.BeginListing();
  capacity.Learn({"q", kId, 0});
  capacity.EndListing(begun, {{"q", kId, 3}});
  EXPECT_EQ(AdmitUpTo(capacity, 5), 5);

  capacity.EndListing(capacity.BeginListing(), {{"q", kId, 3}});  // configured elsewhere since
  EXPECT_EQ(AdmitUpTo(capacity, 5), 3);
}

TEST(QueueCapacity, AQueueMadeAgainIsAnotherOne) {
  QueueCapacity capacity;
  capacity.Learn({"q", kId, 2});
  capacity.BeginMeasuring();
  capacity.EndMeasuring(kId, 2);
  EXPECT_FALSE(capacity.Admit("q"));
  capacity.EndListing(capacity.BeginListing(), {{"q", QueueId{9}, 2}});
  capacity.EndMeasuring(kId, 2);  // of the old one, late
  EXPECT_EQ(AdmitUpTo(capacity, 5), 2);
  capacity.Forget("q");
  EXPECT_EQ(AdmitUpTo(capacity, 5), 5);
}

TEST(QueueCapacity, ALimitOverThreads) {
  QueueCapacity capacity;
  capacity.Learn({"q", kId, 1000});
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        if (!capacity.Admit("q")) continue;
        ++admitted;
        capacity.Settle("q", true);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 1000);
}

}  // namespace
}  // namespace queen::state
