#include "sidecar/dedup_memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace queen::sidecar
