#include "backoff.h"

#include <gtest/gtest.h>

namespace queen::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RetryPolicy Policy(int first_ms, int max_ms) {
  RetryPolicy policy;
  policy.first_delay = milliseconds(first_ms);
  policy.delay_max = milliseconds(max_ms);
  return policy;
}

TEST(Backoff, DoublesUpToTheMostAndVariesByHalf) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 100; ++run) {
    Backoff backoff(Policy(100, 1'000));
    for (const int full : {100, 200, 400, 800, 1'000, 1'000}) {
      const milliseconds pause = backoff.Next(random);
      EXPECT_GE(pause, milliseconds(full / 2));
      EXPECT_LE(pause, milliseconds(full));
    }
  }
}

TEST(Backoff, BelievesTheBrokerWithinTheMost) {
  std::mt19937_64 random(7);
  Backoff backoff(Policy(100, 10'000));
  EXPECT_EQ(backoff.Next(random, seconds(3)), seconds(3));
  EXPECT_EQ(backoff.Next(random, seconds(3'600)), seconds(10));
  EXPECT_GE(backoff.Next(random, seconds(0)), milliseconds(200));
}

TEST(Backoff, NoDelayIsNone) {
  std::mt19937_64 random(7);
  Backoff backoff(Policy(0, 0));
  EXPECT_EQ(backoff.Next(random), milliseconds(0));
}

}  // namespace
}  // namespace queen::client
