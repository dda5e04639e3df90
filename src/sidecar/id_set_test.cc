#include "sidecar/id_set.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>

namespace queen::sidecar {
namespace {

TEST(IdSetTest, AnEmptySetHoldsNothingAndTakesNothing) {
  const IdSet set;
  EXPECT_FALSE(set.Contains(0));
  EXPECT_FALSE(set.Contains(7));
  EXPECT_EQ(set.bytes(), 0u);
}

TEST(IdSetTest, HoldsWhatWasInsertedOnce) {
  IdSet set;
  for (const uint64_t hash : {uint64_t{0}, uint64_t{5}, UINT64_MAX, uint64_t{5}}) set.Insert(hash);
  EXPECT_EQ(set.size(), 3u);
  EXPECT_TRUE(set.Contains(0) && set.Contains(5) && set.Contains(UINT64_MAX));
  EXPECT_FALSE(set.Contains(6));
}

TEST(IdSetTest, AgreesWithASetAtEverySize) {
  std::mt19937_64 random(11);
  IdSet set;
  std::set<uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t hash = random();
    set.Insert(hash);
    model.insert(hash);
    if (i % 997 == 0) {
      const auto some = model.lower_bound(random());
      EXPECT_TRUE(some == model.end() || set.Contains(*some));
      EXPECT_FALSE(set.Contains(random()));
    }
  }
  EXPECT_EQ(set.size(), model.size());
  for (const uint64_t hash : model) ASSERT_TRUE(set.Contains(hash));
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t hash = random();
    ASSERT_EQ(set.Contains(hash), model.contains(hash));
  }
}

TEST(IdSetTest, IsSmallWhenSmallAndCompactWhenLarge) {
  std::mt19937_64 random(12);
  IdSet small;
  for (int i = 0; i < 5; ++i) small.Insert(random());
  EXPECT_LE(small.bytes(), 160u);
  IdSet large;
  for (int i = 0; i < 1'000'000; ++i) large.Insert(random());
  EXPECT_LE(large.bytes(), 20'000'000u);
}

}  // namespace
}  // namespace queen::sidecar
