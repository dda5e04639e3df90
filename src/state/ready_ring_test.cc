#include "state/ready_ring.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

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

TEST(ReadyRing, ALeaseThatHadEverythingLeavesNothingWhenAllIsSettled) {
  ReadyRing ring;
  ring.Hold({1}, 100, 7);
  EXPECT_FALSE(ring.EndLease({1}, 7));
  EXPECT_FALSE(ring.IsHeld({1}));
  EXPECT_EQ(ring.later(), 0U);

  ring.Hold({1}, 100, 7);
  EXPECT_TRUE(ring.EndLease({1}, 6)) << "one failed";
  ring.Hold({1}, 100);
  EXPECT_TRUE(ring.EndLease({1}, 7)) << "it had not everything";
  EXPECT_TRUE(ring.EndLease({1}, 7)) << "nothing is known of this lease";

  ring.Hold({1}, 100, 7);
  EXPECT_FALSE(ring.Push({1}));
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.EndLease({1}, 7)) << "pushed meanwhile";

  ring.Hold({1}, 100, 7);
  ring.Hint({1});
  EXPECT_TRUE(ring.EndLease({1}, 7)) << "somebody else did something meanwhile";
}

TEST(ReadyRing, WhatIsPushedDuringAHoldIsRememberedUntilItsEnd) {
  ReadyRing ring;
  EXPECT_TRUE(ring.Push({1}));
  EXPECT_EQ(ring.Take(), PartitionId{1});
  ring.Hold({1}, 100);
  EXPECT_FALSE(ring.Free({1}));
  ring.Hold({1}, 100);
  ring.Push({1});
  ring.Hold({1}, 200, 7);  // the answer to another question about it: no news of the push
  EXPECT_TRUE(ring.Free({1}));
  ring.Hold({1}, 100);
  EXPECT_FALSE(ring.Free({1})) << "remembered once";
}

TEST(ReadyRing, HintsAreTakenOnceInTheirOrderBesideWhateverElseIsKnown) {
  ReadyRing ring;
  ring.Hold({1}, 100);
  ring.Hint({1});
  ring.Hint({2});
  ring.Hint({1});
  EXPECT_EQ(ring.hints(), 2U);
  EXPECT_EQ(ring.hints_total(), 2);
  EXPECT_EQ(ring.TakeHint(), PartitionId{1});
  EXPECT_TRUE(ring.IsHeld({1}));
  ring.Hint({1});  // again, after it was taken
  EXPECT_EQ(ring.TakeHint(), PartitionId{2});
  EXPECT_EQ(ring.TakeHint(), PartitionId{1});
  EXPECT_EQ(ring.TakeHint(), std::nullopt);
  ring.Clear();
  EXPECT_EQ(ring.hints_total(), 3);
}

TEST(ReadyRing, DoubtMakesHintsOfTheFirst) {
  ReadyRing ring;
  for (int32_t id = 1; id <= 3; ++id) ring.Add({id});
  ring.Doubt(2);
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring.hints(), 2U);
  EXPECT_EQ(ring.Take(), PartitionId{3});
  EXPECT_EQ(ring.TakeHint(), PartitionId{1});
}

// A model of what the ring promises, and that it forgets what has left in another way.
TEST(ReadyRing, TellsOfWhateverIsPutInAndOfNothingElse) {
  std::vector<int32_t> added;
  ReadyRing ring([&](PartitionId partition) { added.push_back(partition.value); });
  ring.Add({1});
  ring.Add({1});  // is in already
  ring.Push({2});
  ring.AddAt({3}, 100);
  ring.Hold({4}, 100);
  ring.Push({4});
  EXPECT_EQ(added, (std::vector<int32_t>{1, 2}));
  ring.MoveDue(100);
  EXPECT_EQ(std::set<int32_t>(added.begin(), added.end()), (std::set<int32_t>{1, 2, 3, 4}));
  ring.Clear();
  ring.Add({1});
  EXPECT_EQ(added.size(), 5U);
}

TEST(ReadyRing, WhoIsToldMayTakeItOut) {
  ReadyRing* told = nullptr;
  ReadyRing ring([&](PartitionId partition) { told->Remove(partition); });
  told = &ring;
  ring.Add({1});
  EXPECT_TRUE(ring.empty());
  EXPECT_FALSE(ring.Contains({1}));
  EXPECT_EQ(ring.Take(), std::nullopt);
}

TEST(ReadyRing, AgreesWithASlowRing) {
  std::mt19937 random(3);
  ReadyRing ring;
  std::set<int32_t> ready;
  std::map<int32_t, int64_t> later;
  std::set<int32_t> held;
  int64_t now = 0;
  for (int step = 0; step < 50'000; ++step) {
    const auto id = static_cast<int32_t>(random() % 20);
    const int64_t at = now + static_cast<int64_t>(random() % 50);
    switch (random() % 6) {
      case 0:
        if (!held.contains(id)) {
          later.erase(id);
          EXPECT_EQ(ring.Add({id}), ready.insert(id).second);
        } else {
          EXPECT_FALSE(ring.Add({id}));
        }
        break;
      case 1:
        ring.AddAt({id}, at);
        if (!ready.contains(id) && (!later.contains(id) || at < later[id])) later[id] = at;
        break;
      case 2:
        ring.Hold({id}, at);
        ready.erase(id);
        held.insert(id);
        later[id] = at;
        break;
      case 3:
        ring.Free({id});
        if (held.erase(id) > 0) later.erase(id);
        break;
      case 4:
        if (const auto taken = ring.Take()) {
          EXPECT_EQ(ready.erase(taken->value), 1U);
        } else {
          EXPECT_TRUE(ready.empty());
        }
        break;
      default:
        now += static_cast<int64_t>(random() % 5);
        size_t moved = ring.MoveDue(now).size();
        for (auto due = later.begin(); due != later.end();) {
          if (due->second > now) {
            ++due;
            continue;
          }
          held.erase(due->first);
          ready.insert(due->first);
          due = later.erase(due);
          --moved;
        }
        EXPECT_EQ(moved, 0U);
    }
    EXPECT_EQ(ring.size(), ready.size());
    EXPECT_EQ(ring.later(), later.size());
    EXPECT_EQ(ring.IsHeld({id}), held.contains(id));
    std::optional<int64_t> next;
    for (const auto& [partition, due] : later) next = std::min(next.value_or(due), due);
    ASSERT_EQ(ring.next_due_ms(), next);
  }
}

}  // namespace
}  // namespace queen::state
