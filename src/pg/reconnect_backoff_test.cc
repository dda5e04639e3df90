#include "pg/reconnect_backoff.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

TEST(ReconnectBackoff, TheCeilingDoublesUpToTheMaximum) {
  std::mt19937_64 random(1);
  ReconnectBackoff backoff(100, 1'000);
  for (const int64_t ceiling : {100, 200, 400, 800, 1'000, 1'000}) {
    EXPECT_EQ(backoff.CeilingMs(), ceiling);
    const int64_t pause = backoff.Next(random);
    EXPECT_GE(pause, 0);
    EXPECT_LE(pause, ceiling);
  }
  EXPECT_EQ(backoff.attempts(), 6);
  backoff.Reset();
  EXPECT_EQ(backoff.CeilingMs(), 100);
  EXPECT_EQ(backoff.attempts(), 0);
}

TEST(ReconnectBackoff, ThousandsOfAttemptsDoNotOverflow) {
  std::mt19937_64 random(2);
  ReconnectBackoff backoff(100, 5'000);
  for (int i = 0; i < 10'000; ++i) ASSERT_LE(backoff.Next(random), 5'000);
  EXPECT_EQ(backoff.CeilingMs(), 5'000);
}

TEST(ReconnectBackoff, PausesAreSpread) {
  std::mt19937_64 random(3);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1'000; ++i) {
    ReconnectBackoff backoff(1'000, 1'000);
    const int64_t pause = backoff.Next(random);
    low = low || pause < 100;
    high = high || pause > 900;
  }
  EXPECT_TRUE(low);
  EXPECT_TRUE(high);
}

}  // namespace
}  // namespace queen::pg
