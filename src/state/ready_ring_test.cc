#include "state/ready_ring.h"

#include <gtest/gtest.h>

namespace queen::state {
namespace {

TEST(ReadyRing, ServesTheLeastRecentlyServedFirstAndEachOnce) {
  ReadyRing ring;
  EXPECT_TRUE(ring.Add({1}));
  EXPECT_TRUE(ring.Add({2}));
  EXPECT_FALSE(ring.Add({1}));
  EXPECT_EQ(ring.Take(), PartitionId{1});
  EXPECT_TRUE(ring.Add({1}));
  EXPECT_EQ(ring.Take(), PartitionId{2});
  EXPECT_EQ(ring.Take(), PartitionId{1});
  EXPECT_EQ(ring.Take(), std::nullopt);
}

TEST(ReadyRing, WhatIsDueLaterComesInWhenItIs) {
  ReadyRing ring;
  ring.AddAt({1}, 100);
  ring.AddAt({2}, 50);
  EXPECT_EQ(ring.next_due_ms(), 50);
  EXPECT_EQ(ring.MoveDue(49).size(), 0U);
  EXPECT_EQ(ring.MoveDue(50).size(), 1U);
  EXPECT_EQ(ring.Take(), PartitionId{2});
  EXPECT_EQ(ring.MoveDue(1000).size(), 1U);
  EXPECT_EQ(ring.Take(), PartitionId{1});
  EXPECT_EQ(ring.next_due_ms(), std::nullopt);
}

TEST(ReadyRing, TheEarlierTimeWinsAndReadyBeatsLater) {
  ReadyRing ring;
  ring.AddAt({1}, 100);
  ring.AddAt({1}, 200);
  EXPECT_EQ(ring.next_due_ms(), 100);
  ring.AddAt({1}, 30);
  EXPECT_EQ(ring.next_due_ms(), 30);
  EXPECT_EQ(ring.later(), 1U);
  EXPECT_TRUE(ring.Add({1}));
  EXPECT_EQ(ring.later(), 0U);
  ring.AddAt({1}, 10);  // it is in already
  EXPECT_EQ(ring.later(), 0U);
  EXPECT_EQ(ring.size(), 1U);
}

TEST(ReadyRing, AHeldPartitionStaysOutUntilFreedOrDue) {
  ReadyRing ring;
  ring.Add({1});
  ring.Hold({1}, 100);
  EXPECT_TRUE(ring.empty());
  EXPECT_FALSE(ring.Add({1}));  // pushed to: still held
  EXPECT_TRUE(ring.empty());
  ring.Free({1});
  EXPECT_EQ(ring.next_due_ms(), std::nullopt);
  EXPECT_TRUE(ring.Add({1}));
  EXPECT_EQ(ring.Take(), PartitionId{1});

  ring.Hold({1}, 100);
  ring.Hold({1}, 200);  // renewed
  EXPECT_EQ(ring.MoveDue(150).size(), 0U);
  EXPECT_EQ(ring.MoveDue(200).size(), 1U);
  EXPECT_EQ(ring.Take(), PartitionId{1});
}

}  // namespace
}  // namespace queen::state
