#include "sidecar/untimed_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <vector>

#include "base/keyed_hash.h"

namespace queen::sidecar {
namespace {

std::vector<uint64_t> Hashes(uint64_t first, uint64_t count) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = first; i < first + count; ++i) hashes.push_back(KeyedHash(std::to_string(i)));
  return hashes;
}

class UntimedMemoryTest : public testing::Test {
 protected:
  UntimedRoom room_{size_t{1} << 30};
  UntimedMemory memory_{room_};

  void ExpectRange(int64_t from, int64_t to) {
    EXPECT_EQ(memory_.from(), from);
    EXPECT_EQ(memory_.to(), to);
  }
};

TEST_F(UntimedMemoryTest, CoversWhatWasPushedHere) {
  EXPECT_TRUE(memory_.empty());
  memory_.Append(0, 3, Hashes(0, 3));
  memory_.Append(3, 2, {});
  memory_.Append(5, 1, Hashes(5, 1));
  ExpectRange(0, 6);
  EXPECT_FALSE(memory_.IsNew(Hashes(2, 1)[0]));
  EXPECT_FALSE(memory_.IsNew(Hashes(5, 1)[0]));
  EXPECT_TRUE(memory_.IsNew(Hashes(6, 1)[0]));
}

TEST_F(UntimedMemoryTest, AGapStopsItUntilItIsLoaded) {
  memory_.Append(0, 3, Hashes(0, 3));
  memory_.Append(5, 2, Hashes(5, 2));
  ExpectRange(0, 3);
  EXPECT_EQ(memory_.gap(), 4);
  EXPECT_TRUE(memory_.IsNew(Hashes(5, 1)[0])) << "not in the range";
  memory_.Extend(5, Hashes(3, 2));
  memory_.Extend(7, Hashes(5, 2));
  ExpectRange(0, 7);
  EXPECT_EQ(memory_.gap(), 0);
  for (const uint64_t hash : Hashes(0, 7)) EXPECT_FALSE(memory_.IsNew(hash));
}

TEST_F(UntimedMemoryTest, ALargeGapOrAStepBackBeginsAnew) {
  memory_.Append(0, 3, Hashes(0, 3));
  memory_.Append(UntimedMemory::kGapMax + 4, 2, Hashes(9, 2));
  ExpectRange(UntimedMemory::kGapMax + 4, UntimedMemory::kGapMax + 6);
  EXPECT_TRUE(memory_.IsNew(Hashes(0, 1)[0]));
  memory_.Append(1, 1, Hashes(1, 1));  // the database went back
  ExpectRange(1, 2);
}

TEST_F(UntimedMemoryTest, IsFilledBackwards) {
  memory_.Append(100, 1, Hashes(100, 1));
  memory_.ExtendBack(40, Hashes(40, 60));
  memory_.ExtendBack(0, Hashes(0, 40));
  ExpectRange(0, 101);
  for (const uint64_t hash : Hashes(0, 101)) EXPECT_FALSE(memory_.IsNew(hash));
}

TEST_F(UntimedMemoryTest, GivesBackWhatItTakes) {
  const uint64_t part = UntimedMemory::kIdsPerPart;
  memory_.Append(0, static_cast<int64_t>(part), Hashes(0, part));
  const size_t one = room_.bytes;
  memory_.Append(static_cast<int64_t>(part), 10, Hashes(part, 10));
  EXPECT_GT(room_.bytes, one);
  memory_.DropOldest();
  ExpectRange(static_cast<int64_t>(part), static_cast<int64_t>(part) + 10);
  EXPECT_LT(room_.bytes, 1'000u);
  EXPECT_TRUE(memory_.IsNew(Hashes(0, 1)[0]));
  EXPECT_FALSE(memory_.IsNew(Hashes(part, 1)[0]));
  memory_.DropOldest();
  EXPECT_TRUE(memory_.empty());
  EXPECT_EQ(room_.bytes, 0u);
}

TEST_F(UntimedMemoryTest, TheRoomSaysWhenToStop) {
  UntimedRoom room(1'000);
  UntimedMemory memory(room);
  EXPECT_TRUE(room.MayLoad());
  memory.Append(0, 40, Hashes(0, 40));
  EXPECT_FALSE(room.MayLoad());
  EXPECT_FALSE(room.IsFull());
  memory.Append(40, 100, Hashes(40, 100));
  EXPECT_TRUE(room.IsFull());
}

// A log that several write to, pages of it that come late or not at all, parts that are dropped:
// what is called new is not in the range.
TEST_F(UntimedMemoryTest, NeverCallsNewWhatIsInItsRange) {
  const char* given = std::getenv("QUEEN_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  std::vector<uint64_t> log;
  const auto slice = [&](int64_t from, int64_t to) {
    return std::vector(log.begin() + from, log.begin() + to);
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto end = static_cast<int64_t>(log.size());
    switch (below(8)) {
      case 0:
      case 1:
      case 2: {
        const auto count = static_cast<int64_t>(1 + below(5));
        for (int64_t i = 0; i < count; ++i) log.push_back(random());
        memory_.Append(end, count, slice(end, end + count));
        break;
      }
      case 3:  // somebody else
        log.push_back(random());
        break;
      case 4:
      case 5:
        if (memory_.empty() || memory_.gap() == 0) break;
        {
          const int64_t to =
              memory_.to() + 1 + static_cast<int64_t>(below(static_cast<uint64_t>(memory_.gap())));
          memory_.Extend(to, slice(memory_.to(), to));
        }
        break;
      case 6:
        if (memory_.empty() || memory_.from() == 0) break;
        {
          const auto from = static_cast<int64_t>(below(static_cast<uint64_t>(memory_.from())));
          memory_.ExtendBack(from, slice(from, memory_.from()));
        }
        break;
      default:
        if (below(50) == 0) memory_.DropOldest();
        if (below(300) == 0) memory_.Clear();
    }
    ASSERT_LE(memory_.to(), static_cast<int64_t>(log.size()));
    for (int i = 0; i < 5 && !memory_.empty(); ++i) {
      const auto width = static_cast<uint64_t>(memory_.to() - memory_.from());
      const auto place = static_cast<size_t>(memory_.from() + static_cast<int64_t>(below(width)));
      ASSERT_FALSE(memory_.IsNew(log[place])) << "step " << step << ", offset " << place;
    }
    ASSERT_TRUE(memory_.IsNew(random()));
  }
}

}  // namespace
}  // namespace queen::sidecar
