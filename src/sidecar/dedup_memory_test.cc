#include "sidecar/dedup_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "base/uuid.h"

namespace queen::sidecar {
namespace {

std::string Id(int64_t millis) { return MakeUuidV7(millis).ToString(); }

TEST(DedupMemory, KnowsWhatItStored) {
  DedupMemory memory;
  const std::string a = Id(1000);
  const std::string b = Id(2000);
  memory.Append(0, 3, {a, b});
  EXPECT_EQ(memory.from(), 0);
  EXPECT_EQ(memory.to(), 3);
  EXPECT_FALSE(memory.IsNew(a));
  EXPECT_FALSE(memory.IsNew(b));
  EXPECT_TRUE(memory.IsNew(Id(1500)));  // between the two, and neither
}

TEST(DedupMemory, AGapForgetsWhatWasBefore) {
  DedupMemory memory;
  const std::string a = Id(1000);
  memory.Append(5, 2, {a});
  EXPECT_EQ(memory.from(), 5);
  memory.Append(9, 1, {});
  EXPECT_EQ(memory.from(), 9);
  EXPECT_EQ(memory.to(), 10);
  EXPECT_TRUE(memory.IsNew(a));  // and no longer covered, so the database is asked
}

TEST(DedupMemory, OldIdsAreInDoubtOnceTheirSegmentIsForgotten) {
  DedupMemory memory;
  const std::string first = Id(1000);
  memory.Append(0, 1, {first});
  for (size_t i = 0; i < DedupMemory::kSegmentsMax; ++i) {
    memory.Append(memory.to(), 1, {Id(static_cast<int64_t>(2000 + i))});
  }
  EXPECT_EQ(memory.from(), 0);
  EXPECT_FALSE(memory.IsNew(first));
  EXPECT_FALSE(memory.IsNew(Id(500)));  // below the greatest forgotten one: not certain
  EXPECT_TRUE(memory.IsNew(Id(1001)));
}

TEST(DedupMemory, WhatIsSecondsOldIsKeptAsOneId) {
  DedupMemory memory;
  const std::string first = Id(10'000);
  memory.Append(0, 1, {first});
  memory.Append(1, 1, {Id(10'000 + DedupMemory::kAgeMaxMs)});
  EXPECT_TRUE(memory.IsNew(Id(9'000)));  // compared with both
  memory.Append(2, 1, {Id(10'001 + DedupMemory::kAgeMaxMs)});
  EXPECT_EQ(memory.from(), 0);
  EXPECT_FALSE(memory.IsNew(first));
  EXPECT_FALSE(memory.IsNew(Id(9'000)));  // older than what is forgotten: not certain
  EXPECT_TRUE(memory.IsNew(Id(10'001)));
}

TEST(DedupMemory, WithoutItsIdsItStillKnowsTheGreatest) {
  DedupMemory memory;
  const std::string a = Id(1000);
  const std::string b = Id(2000);
  memory.Append(0, 2, {a, b});
  memory.ForgetIds();
  EXPECT_EQ(memory.to(), 2);
  EXPECT_FALSE(memory.IsNew(a));
  EXPECT_FALSE(memory.IsNew(b));
  EXPECT_FALSE(memory.IsNew(Id(1500)));  // it may have been there
  EXPECT_TRUE(memory.IsNew(Id(2001)));
  memory.Append(2, 1, {Id(3000)});
  EXPECT_FALSE(memory.IsNew(a));
  EXPECT_TRUE(memory.IsNew(Id(2500)));
}

TEST(DedupMemory, IdsInEitherCaseAreInDoubt) {
  DedupMemory memory;
  std::string id = Id(1000);
  memory.Append(0, 2, {id, id});
  std::transform(id.begin(), id.end(), id.begin(),
                 [](char c) { return static_cast<char>(std::toupper(c)); });
  EXPECT_FALSE(memory.IsNew(id));
  EXPECT_FALSE(memory.IsNew("not an id"));
}

// Of ids in any order, near and far, none that is stored is ever called new.
TEST(DedupMemory, NeverCallsNewWhatIsStored) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    DedupMemory memory;
    std::vector<std::string> stored;
    int certain = 0;
    for (int segment = 0; segment < 100; ++segment) {
      std::vector<std::string> ids;
      for (size_t i = 0; i <= random() % 4; ++i) {
        ids.push_back(Id(20'000 + segment * 100 + static_cast<int64_t>(random() % 400)));
        certain += memory.IsNew(ids.back()) ? 1 : 0;
      }
      memory.Append(memory.to(), static_cast<int64_t>(ids.size()), {ids.begin(), ids.end()});
      stored.insert(stored.end(), ids.begin(), ids.end());
    }
    for (const std::string& id : stored) ASSERT_FALSE(memory.IsNew(id));
    EXPECT_EQ(certain, static_cast<int>(stored.size()));  // and fresh ones need no look
  }
}

}  // namespace
}  // namespace queen::sidecar
