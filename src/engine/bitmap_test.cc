#include "engine/bitmap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/testing/lanes.h"

namespace queen::engine {
namespace {

std::string Ones(size_t count) { return std::string(count, '1'); }
std::string Zeros(size_t count) { return std::string(count, '0'); }

TEST(Bitmap, ZerosAtTheEndDoNotCount) {
  EXPECT_EQ(Bitmap("0100"), Bitmap("01"));
  EXPECT_EQ(Bitmap(Zeros(200)), Bitmap());
  EXPECT_TRUE(Bitmap("000").empty());
  EXPECT_EQ(Bitmap("0100").ToText(), "01");
  EXPECT_EQ(Bitmap().ToText(), "");
}

TEST(Bitmap, AnEmptyOneTakesNoMemory) {
  EXPECT_EQ(Bitmap().bytes(), 0U);
  EXPECT_EQ(Bitmap(Zeros(500)).bytes(), 0U);
}

TEST(Bitmap, PlacesOutsideAreNotMarked) {
  const Bitmap bitmap("1");
  EXPECT_TRUE(bitmap.Get(0));
  EXPECT_FALSE(bitmap.Get(-1));
  EXPECT_FALSE(bitmap.Get(1));
  EXPECT_FALSE(bitmap.Get(64));
  EXPECT_FALSE(bitmap.Get(int64_t{1} << 43));
}

TEST(Bitmap, ARangeCrossesWords) {
  Bitmap bitmap;
  bitmap.SetRange(63, 130);
  EXPECT_EQ(bitmap.ToText(), Zeros(63) + Ones(67));
  bitmap.SetRange(5, 5);
  bitmap.SetRange(7, 3);
  EXPECT_EQ(bitmap.ToText(), Zeros(63) + Ones(67));
}

TEST(Bitmap, ClearingTheLastMarkShortensIt) {
  Bitmap bitmap(Zeros(100) + "1");
  bitmap.Clear(100);
  EXPECT_EQ(bitmap, Bitmap());
  bitmap.Clear(100);
  bitmap.Clear(-1);
  EXPECT_EQ(bitmap, Bitmap());
}

TEST(Bitmap, CountKeepsToItsRange) {
  const Bitmap bitmap(Ones(130));
  EXPECT_EQ(bitmap.Count(0, 130), 130);
  EXPECT_EQ(bitmap.Count(60, 70), 10);
  EXPECT_EQ(bitmap.Count(-5, 1'000), 130);
  EXPECT_EQ(bitmap.Count(70, 66), 0);
  EXPECT_EQ(bitmap.Count(10, 5), 0);
  EXPECT_EQ(bitmap.Count(0, -3), 0);
  EXPECT_EQ(bitmap.Count(500, 600), 0);
  EXPECT_EQ(Bitmap().Count(0, 100), 0);
}

TEST(Bitmap, LeadingStopsAtTheFirstGap) {
  EXPECT_EQ(Bitmap().Leading(), 0);
  EXPECT_EQ(Bitmap("0111").Leading(), 0);
  EXPECT_EQ(Bitmap("1101").Leading(), 2);
  EXPECT_EQ(Bitmap(Ones(64)).Leading(), 64);
  EXPECT_EQ(Bitmap(Ones(128) + "01").Leading(), 128);
}

TEST(Bitmap, BehindZeroCountsTheEndlessZeros) {
  EXPECT_EQ(Bitmap().BehindZero(1), 1);
  EXPECT_EQ(Bitmap().BehindZero(100), 100);
  EXPECT_EQ(Bitmap("101").BehindZero(1), 2);
  EXPECT_EQ(Bitmap("101").BehindZero(2), 4);
  EXPECT_EQ(Bitmap(Ones(63) + "0" + Ones(64)).BehindZero(1), 64);
  EXPECT_EQ(Bitmap(Ones(63) + "0" + Ones(64)).BehindZero(2), 129);
  EXPECT_EQ(Bitmap(Ones(64)).BehindZero(1), 65);
}

TEST(Bitmap, FromAndShiftedAreOpposites) {
  const Bitmap bitmap("01" + Zeros(70) + "11");
  for (const int64_t places : {0, 1, 63, 64, 65, 128, 10'000}) {
    const Bitmap shifted = bitmap.Shifted(places);
    EXPECT_EQ(shifted.ToText(), Zeros(static_cast<size_t>(places)) + bitmap.ToText());
    EXPECT_EQ(shifted.From(places), bitmap);
  }
  EXPECT_EQ(bitmap.From(1'000), Bitmap());
  EXPECT_EQ(bitmap.From(int64_t{1} << 43), Bitmap());
  EXPECT_EQ(Bitmap().Shifted(int64_t{1} << 43), Bitmap());
}

TEST(Bitmap, CutLeavesWhatIsBefore) {
  const Bitmap bitmap(Ones(130));
  EXPECT_EQ(bitmap.Cut(0), Bitmap());
  EXPECT_EQ(bitmap.Cut(-1), Bitmap());
  EXPECT_EQ(bitmap.Cut(1), Bitmap("1"));
  EXPECT_EQ(bitmap.Cut(64).ToText(), Ones(64));
  EXPECT_EQ(bitmap.Cut(65).ToText(), Ones(65));
  EXPECT_EQ(bitmap.Cut(1'000), bitmap);
  EXPECT_EQ(Bitmap().Cut(10), Bitmap());
  EXPECT_EQ(Bitmap(Zeros(100) + "1").Cut(100), Bitmap());
}

// The same in the plainest way.
class Reference {
 public:
  explicit Reference(size_t size) : bits_(size) {}

  void SetRange(int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) bits_[static_cast<size_t>(i)] = true;
  }
  void Clear(int64_t place) { bits_[static_cast<size_t>(place)] = false; }
  int64_t Count(int64_t from, int64_t to) const {
    int64_t count = 0;
    for (int64_t i = from; i < to; ++i) count += Get(i) ? 1 : 0;
    return count;
  }
  int64_t Leading() const {
    int64_t count = 0;
    while (Get(count)) ++count;
    return count;
  }
  int64_t BehindZero(int64_t n) const {
    int64_t place = 0;
    while (n > 0) n -= Get(place++) ? 0 : 1;
    return place;
  }
  // The places [from, to) as text; those before the front are 0.
  Bitmap Part(int64_t from, int64_t to) const {
    std::string text;
    for (int64_t i = from; i < to; ++i) text.push_back(Get(i) ? '1' : '0');
    return Bitmap(text);
  }
  bool Get(int64_t i) const {
    return i >= 0 && static_cast<size_t>(i) < bits_.size() && bits_[static_cast<size_t>(i)];
  }

 private:
  std::vector<bool> bits_;
};

TEST(Bitmap, DoesWhatAVectorOfBoolDoes) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(testing::Message() << "QUEEN_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  constexpr int64_t kSize = 300;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    Bitmap bitmap;
    Bitmap other;
    Reference expected(kSize);
    Reference expected_other(kSize);
    for (int step = 0; step < 20; ++step) {
      const int64_t from = RandomBetween(random, 0, kSize);
      const int64_t to = std::min(kSize, from + RandomBetween(random, 0, step % 3 == 0 ? 150 : 3));
      bitmap.SetRange(from, to);
      expected.SetRange(from, to);
      other.SetRange(kSize - to, kSize - from);
      expected_other.SetRange(kSize - to, kSize - from);
      const int64_t gone = RandomBetween(random, 0, kSize - 1);
      bitmap.Clear(gone);
      expected.Clear(gone);
    }
    EXPECT_EQ(bitmap, expected.Part(0, kSize));
    EXPECT_EQ(Bitmap(bitmap.ToText()), bitmap);
    EXPECT_EQ(bitmap.Leading(), expected.Leading());
    const int64_t low = RandomBetween(random, -10, kSize);
    const int64_t high = RandomBetween(random, -10, kSize + 100);
    EXPECT_EQ(bitmap.Count(low, high), expected.Count(low, high)) << low << " " << high;
    const int64_t n = RandomBetween(random, 1, kSize);
    EXPECT_EQ(bitmap.BehindZero(n), expected.BehindZero(n)) << n;
    const int64_t places = RandomBetween(random, 0, kSize + 70);
    EXPECT_EQ(bitmap.From(places), expected.Part(places, kSize)) << places;
    EXPECT_EQ(bitmap.Shifted(places), expected.Part(-places, kSize)) << places;
    EXPECT_EQ(bitmap.Cut(places), expected.Part(0, places)) << places;

    Bitmap both = bitmap;
    both |= other;
    Bitmap without = bitmap;
    without -= other;
    for (int64_t i = 0; i < kSize; ++i) {
      EXPECT_EQ(both.Get(i), expected.Get(i) || expected_other.Get(i)) << i;
      EXPECT_EQ(without.Get(i), expected.Get(i) && !expected_other.Get(i)) << i;
    }
    EXPECT_EQ(Bitmap(both.ToText()), both);
    EXPECT_EQ(Bitmap(without.ToText()), without);
  }
}

}  // namespace
}  // namespace queen::engine
