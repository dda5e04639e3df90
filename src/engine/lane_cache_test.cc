// What the cache believes, and when it stops believing it.
#include "engine/lane_cache.h"

#include <gtest/gtest.h>

#include "engine/testing/lanes.h"

namespace queen::engine {
namespace {

constexpr LaneKey kLane{PartitionId{1}, GroupId{10}};
constexpr LaneKey kOtherGroup{PartitionId{1}, GroupId{11}};
constexpr LaneKey kOtherPartition{PartitionId{2}, GroupId{10}};

// A log of `count` segments of 10 messages.
LogView LogOfTens(int count) {
  std::vector<SegmentSpan> segments;
  for (int i = 0; i < count; ++i) segments.push_back({int64_t{i} * 10, 10, Ago(100 - i), 1000});
  return LogOf(std::move(segments));
}

SegmentSpan Ten(int64_t base) { return {base, 10, Ago(1), 1000}; }

LoadedLane LaneAt(int64_t epoch, int64_t cursor, LogView log) {
  LoadedLane lane;
  lane.progress.epoch = epoch;
  lane.progress.stamp = epoch * 7;
  lane.progress.cursor = cursor;
  lane.log = std::move(log);
  return lane;
}

Progress ProgressAt(int64_t epoch, int64_t cursor) { return LaneAt(epoch, cursor, {}).progress; }

class LaneCacheTest : public testing::Test {
 protected:
  void Load(const LaneKey& key, LoadedLane lane) {
    const int64_t load = cache_.BeginLoad();
    cache_.Put(key, std::move(lane), load, cache_.generation());
    cache_.EndLoad();
  }

  Generation generation_;
  LaneCache cache_{generation_, 3, 100};
};

TEST_F(LaneCacheTest, ALoadedLaneIsFound) {
  EXPECT_EQ(cache_.Find(kLane), nullptr);
  Load(kLane, LaneAt(3, 5, LogOfTens(2)));
  const Lane* lane = cache_.Find(kLane);
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lane->progress.epoch, 3);
  EXPECT_FALSE(lane->log.open);
  EXPECT_EQ(cache_.Find(kOtherGroup), nullptr);
  EXPECT_EQ(cache_.hits(), 1);
  EXPECT_EQ(cache_.misses(), 2);
}

// ---- R2: generations

TEST_F(LaneCacheTest, R2EverythingIsForgottenWhenAnyWorkerLosesAConnection) {
  Load(kLane, LaneAt(3, 5, LogOfTens(2)));
  generation_.Advance();
  EXPECT_EQ(cache_.Find(kLane), nullptr);
  EXPECT_EQ(cache_.size(), 0);
}

TEST_F(LaneCacheTest, R2ALoadBegunBeforeTheConnectionWasLostTellsNothing) {
  const int64_t load = cache_.BeginLoad();
  const int64_t generation = cache_.generation();
  generation_.Advance();
  cache_.Put(kLane, LaneAt(3, 5, LogOfTens(2)), load, generation);
  cache_.EndLoad();
  EXPECT_EQ(cache_.Find(kLane), nullptr);
}

TEST_F(LaneCacheTest, R2AnAppendBegunBeforeTheConnectionWasLostTellsNothing) {
  const int64_t generation = cache_.generation();
  generation_.Advance();
  Load(kLane, LaneAt(3, 5, LogOfTens(2)));
  cache_.Update(kLane, ProgressAt(4, 10), generation);
  EXPECT_EQ(cache_.Find(kLane)->progress, ProgressAt(3, 5));
}

// ---- appends

TEST_F(LaneCacheTest, AnAppendMovesTheLaneAndForgetsWhatIsBehindIt) {
  Load(kLane, LaneAt(3, 5, LogOfTens(3)));
  cache_.Update(kLane, ProgressAt(4, 10), cache_.generation());
  const Lane* lane = cache_.Find(kLane);
  EXPECT_EQ(lane->progress, ProgressAt(4, 10));
  ASSERT_EQ(lane->log.segments.size(), 2);
  EXPECT_EQ(lane->log.segments[0].base_seq, 10);
}

TEST_F(LaneCacheTest, TheOlderOfTwoAnswersIsNotBelieved) {
  Load(kLane, LaneAt(3, 5, LogOfTens(3)));
  cache_.Update(kLane, ProgressAt(5, 12), cache_.generation());
  cache_.Update(kLane, ProgressAt(4, 10), cache_.generation());
  EXPECT_EQ(cache_.Find(kLane)->progress, ProgressAt(5, 12));
}

TEST_F(LaneCacheTest, ALoadOlderThanAnAppendGivesOnlyTheLog) {
  Load(kLane, LaneAt(3, 5, LogOfTens(1)));
  const int64_t load = cache_.BeginLoad();
  cache_.Update(kLane, ProgressAt(4, 10), cache_.generation());
  cache_.Put(kLane, LaneAt(3, 5, LogOfTens(3)), load, cache_.generation());
  cache_.EndLoad();
  EXPECT_EQ(cache_.Find(kLane)->progress, ProgressAt(4, 10));
  EXPECT_EQ(cache_.Find(kLane)->log.known_end, 30);
}

TEST_F(LaneCacheTest, ACursorThatGoesBackIsASeekAndTheLogIsNotKnownThere) {
  Load(kLane, LaneAt(3, 25, LogOfTens(3)));
  cache_.Update(kLane, ProgressAt(4, 0), cache_.generation());
  EXPECT_EQ(cache_.Find(kLane), nullptr);
}

TEST_F(LaneCacheTest, WhatIsNotKnownIsNotUpdated) {
  cache_.Update(kLane, ProgressAt(4, 0), cache_.generation());
  EXPECT_EQ(cache_.Find(kLane), nullptr);
}

// ---- pushes

TEST_F(LaneCacheTest, APushExtendsEveryLaneOfItsPartition) {
  Load(kLane, LaneAt(3, 5, LogOfTens(1)));
  Load(kOtherGroup, LaneAt(1, 0, LogOfTens(1)));
  Load(kOtherPartition, LaneAt(1, 0, LogOfTens(1)));
  cache_.Pushed(PartitionId{1}, Ten(10));
  for (const LaneKey& key : {kLane, kOtherGroup}) {
    const LogView& log = cache_.Find(key)->log;
    EXPECT_EQ(log.segments.size(), 2);
    EXPECT_EQ(log.known_end, 20);
    EXPECT_EQ(log.live_end, 20);
    EXPECT_EQ(log.newest_micros, Ago(1) + 9);
  }
  EXPECT_EQ(cache_.Find(kOtherPartition)->log.end, 10);
}

TEST_F(LaneCacheTest, APushBehindAnotherThatWasNotHeardIsNotListed) {
  Load(kLane, LaneAt(3, 5, LogOfTens(1)));
  cache_.Pushed(PartitionId{1}, Ten(20));
  const LogView& log = cache_.Find(kLane)->log;
  EXPECT_EQ(log.known_end, 10);
  EXPECT_EQ(log.live_end, 30);
}

TEST_F(LaneCacheTest, APushHeardTwiceIsThereOnce) {
  Load(kLane, LaneAt(3, 5, LogOfTens(2)));
  cache_.Pushed(PartitionId{1}, Ten(10));
  EXPECT_EQ(cache_.Find(kLane)->log.segments.size(), 2);
  EXPECT_EQ(cache_.Find(kLane)->log.end, 20);
}

// The load's snapshot may be older than the push, which nobody tells of again.
TEST_F(LaneCacheTest, ALoadOlderThanAPushIsNotTheWholeOfALane) {
  const int64_t load = cache_.BeginLoad();
  cache_.Pushed(PartitionId{1}, Ten(10));
  cache_.Put(kLane, LaneAt(3, 10, LogOfTens(1)), load, cache_.generation());
  cache_.Put(kOtherPartition, LaneAt(3, 10, LogOfTens(1)), load, cache_.generation());
  cache_.EndLoad();
  EXPECT_TRUE(cache_.Find(kLane)->log.open);
  EXPECT_FALSE(cache_.Find(kOtherPartition)->log.open);
}

TEST_F(LaneCacheTest, OfTooManyPushesDuringALoadNoneIsForgotten) {
  const int64_t load = cache_.BeginLoad();
  cache_.Pushed(kLane.partition, Ten(20));
  for (size_t i = 0; i < LaneCache::kTouchedMax; ++i) {
    cache_.Pushed(PartitionId{static_cast<int32_t>(100 + i)}, Ten(0));
  }
  cache_.Put(kLane, LaneAt(1, 0, LogOfTens(2)), load, cache_.generation());
  EXPECT_TRUE(cache_.Find(kLane)->log.open);
  cache_.EndLoad();
  Load(kLane, LaneAt(1, 0, LogOfTens(3)));
  EXPECT_FALSE(cache_.Find(kLane)->log.open) << "a later load tells the whole";
}

TEST_F(LaneCacheTest, ALoadBegunAfterThePushIsTheWholeOfALane) {
  const int64_t first = cache_.BeginLoad();
  cache_.Pushed(PartitionId{1}, Ten(10));
  const int64_t second = cache_.BeginLoad();
  cache_.Put(kLane, LaneAt(3, 10, LogOfTens(2)), second, cache_.generation());
  EXPECT_FALSE(cache_.Find(kLane)->log.open);
  cache_.Put(kOtherGroup, LaneAt(3, 10, LogOfTens(1)), first, cache_.generation());
  EXPECT_TRUE(cache_.Find(kOtherGroup)->log.open);
  cache_.EndLoad();
  cache_.EndLoad();
}

TEST_F(LaneCacheTest, ALoadOlderThanAPushDoesNotTakeBackWhatIsKnownOfItsEnd) {
  Load(kLane, LaneAt(3, 5, LogOfTens(1)));
  const int64_t load = cache_.BeginLoad();
  cache_.Pushed(PartitionId{1}, Ten(10));
  cache_.Put(kLane, LaneAt(3, 5, LogOfTens(1)), load, cache_.generation());
  cache_.EndLoad();
  const LogView& log = cache_.Find(kLane)->log;
  EXPECT_EQ(log.known_end, 10);
  EXPECT_EQ(log.end, 20);
  EXPECT_EQ(log.live_end, 20);
  // A window opens only when nothing has come for a while.
  EXPECT_EQ(log.newest_micros, Ago(1) + 9);
}

// Others may have written, also while a load is on its way.
TEST_F(LaneCacheTest, DoubtOpensALogUntilItIsLoadedAgain) {
  Load(kLane, LaneAt(3, 5, LogOfTens(1)));
  cache_.Doubt(PartitionId{1});
  EXPECT_TRUE(cache_.Find(kLane)->log.open);
  const int64_t load = cache_.BeginLoad();
  cache_.Doubt(PartitionId{1});
  cache_.Put(kLane, LaneAt(3, 5, LogOfTens(1)), load, cache_.generation());
  cache_.EndLoad();
  EXPECT_TRUE(cache_.Find(kLane)->log.open);
  Load(kLane, LaneAt(3, 5, LogOfTens(2)));
  EXPECT_FALSE(cache_.Find(kLane)->log.open);
}

TEST_F(LaneCacheTest, EveryLaneOfAGroupThatWasMovedIsForgotten) {
  Load(kLane, LaneAt(3, 5, LogOfTens(1)));
  Load(kOtherPartition, LaneAt(3, 5, LogOfTens(1)));
  Load(kOtherGroup, LaneAt(3, 5, LogOfTens(1)));
  cache_.DropGroup(kLane.group);
  EXPECT_EQ(cache_.Find(kLane), nullptr);
  EXPECT_EQ(cache_.Find(kOtherPartition), nullptr);
  EXPECT_NE(cache_.Find(kOtherGroup), nullptr);
}

// ---- bounds

TEST_F(LaneCacheTest, TheLaneUsedLeastRecentlyIsForgottenFirst) {
  Load(kLane, LaneAt(1, 0, LogOfTens(1)));
  Load(kOtherGroup, LaneAt(1, 0, LogOfTens(1)));
  Load(kOtherPartition, LaneAt(1, 0, LogOfTens(1)));
  EXPECT_NE(cache_.Find(kLane), nullptr);
  Load({PartitionId{3}, GroupId{10}}, LaneAt(1, 0, LogOfTens(1)));
  EXPECT_EQ(cache_.size(), 3);
  EXPECT_NE(cache_.Find(kLane), nullptr);
  EXPECT_EQ(cache_.Find(kOtherGroup), nullptr);
  cache_.Pushed(PartitionId{1}, Ten(10));  // the one forgotten is not looked for
}

TEST_F(LaneCacheTest, SegmentsAreBoundedTogether) {
  Load(kLane, LaneAt(1, 0, LogOfTens(60)));
  Load(kOtherGroup, LaneAt(1, 0, LogOfTens(60)));
  Load(kOtherPartition, LaneAt(1, 0, LogOfTens(1)));
  EXPECT_EQ(cache_.Find(kLane), nullptr);
  EXPECT_NE(cache_.Find(kOtherGroup), nullptr);
  EXPECT_NE(cache_.Find(kOtherPartition), nullptr);
}

TEST_F(LaneCacheTest, ALaneThatNobodyPopsListsNoMoreThanALoadGives) {
  Load(kLane, LaneAt(1, 0, LogOfTens(1)));
  for (int64_t base = 10; base < 10'000; base += 10) cache_.Pushed(PartitionId{1}, Ten(base));
  const LogView& log = cache_.Find(kLane)->log;
  EXPECT_EQ(log.segments.size(), 400);
  EXPECT_EQ(log.known_end, 4000);
  EXPECT_EQ(log.live_end, 10'000);
}

}  // namespace
}  // namespace queen::engine
