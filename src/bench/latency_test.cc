#include "bench/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace queen::bench {
namespace {

TEST(LatencyTest, NothingRecordedIsZero) {
  const LatencySummary summary = Summarize(Latency{});
  EXPECT_EQ(summary.count, 0u);
  EXPECT_EQ(summary.p99_us, 0);
  EXPECT_EQ(summary.mean_us, 0);
}

TEST(LatencyTest, SmallNumbersAreExact) {
  Latency latency;
  for (int64_t i = 1; i <= 100; ++i) latency.Record(i);
  EXPECT_EQ(latency.Percentile(0), 1);
  EXPECT_EQ(latency.Percentile(0.5), 50);
  EXPECT_EQ(latency.Percentile(0.99), 99);
  EXPECT_EQ(latency.Percentile(0.999), 100);
  EXPECT_EQ(latency.Percentile(1), 100);
  EXPECT_DOUBLE_EQ(latency.mean(), 50.5);
}

TEST(LatencyTest, TheEndsOfTheRangeAreKept) {
  Latency latency;
  latency.Record(-5);
  latency.Record(INT64_MAX);
  EXPECT_EQ(latency.Percentile(0.5), 0);
  EXPECT_EQ(latency.max(), (int64_t{1} << 40) - 1);
  EXPECT_EQ(latency.Percentile(1), latency.max());
  latency.Reset();
  EXPECT_EQ(latency.count(), 0u);
  EXPECT_EQ(latency.max(), 0);
}

TEST(LatencyTest, PercentilesAreWithinOnePercentOfTheTruth) {
  const char* const given = std::getenv("QUEEN_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("QUEEN_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    Latency latency;
    std::vector<int64_t> values;
    for (int i = 0; i < 5'000; ++i) {
      values.push_back(static_cast<int64_t>(random() >> (24 + random() % 40)));
      latency.Record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const size_t rank : {1u, 50u, 2'500u, 4'500u, 4'950u, 4'995u, 5'000u}) {
      const int64_t truth = values[rank - 1];
      const int64_t told = latency.Percentile(static_cast<double>(rank) / 5'000);
      EXPECT_GE(told, truth);
      EXPECT_LE(static_cast<double>(told), static_cast<double>(truth) * 1.01);
    }
  }
}

}  // namespace
}  // namespace queen::bench
