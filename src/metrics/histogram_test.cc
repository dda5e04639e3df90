#include "metrics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace queen::metrics {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << kHistogramValueBits;

TEST(Histogram, EveryValueLiesWithinItsBucket) {
  std::mt19937_64 random(3);
  const auto check = [](uint64_t value) {
    const size_t bucket = BucketOf(value);
    ASSERT_LT(bucket, kHistogramBuckets);
    ASSERT_LE(value, BucketUpperEdge(bucket));
    ASSERT_TRUE(bucket == 0 || value > BucketUpperEdge(bucket - 1));
    ASSERT_LE(BucketUpperEdge(bucket) - value, value / kSubBuckets);
  };
  for (uint64_t value = 0; value < 100'000; ++value) check(value);
  for (unsigned bit = 5; bit <= kHistogramValueBits; ++bit) {
    check((uint64_t{1} << bit) - 1);
    check(uint64_t{1} << bit);
    check((uint64_t{1} << (bit - 1)) + 1);
  }
  for (int i = 0; i < 100'000; ++i) check(random() % (kLargest + 1));
}

TEST(Histogram, EdgesRiseWithoutGaps) {
  for (size_t bucket = 0; bucket + 1 < kHistogramBuckets; ++bucket) {
    EXPECT_EQ(BucketOf(BucketUpperEdge(bucket)), bucket);
    EXPECT_EQ(BucketOf(BucketUpperEdge(bucket) + 1), bucket + 1);
  }
  EXPECT_EQ(BucketUpperEdge(kHistogramBuckets - 1), kLargest);
}

TEST(Histogram, NothingIsTooLarge) {
  Histograms histograms(1);
  histograms.of(0).Record(~uint64_t{0});
  histograms.of(0).Record(kLargest + 1);
  const HistogramSnapshot snapshot(histograms);
  EXPECT_EQ(snapshot.count(), 2u);
  EXPECT_EQ(snapshot.max(), ~uint64_t{0});
  EXPECT_EQ(snapshot.Percentile(0.5), ~uint64_t{0});
  EXPECT_EQ(snapshot.CountUpToPowerOfTwo(20), 0u);
}

TEST(Histogram, PercentilesAreCloseToTheTruth) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> latency(7, 1.5);
  Histograms histograms(4);
  std::vector<uint64_t> values;
  for (size_t i = 0; i < 50'000; ++i) {
    values.push_back(static_cast<uint64_t>(latency(random)));
    histograms.of(i % 4).Record(values.back());
  }
  std::sort(values.begin(), values.end());
  const HistogramSnapshot snapshot(histograms);
  for (const double fraction : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(values.size())));
    const uint64_t exact = values[std::max<size_t>(rank, 1) - 1];
    EXPECT_GE(snapshot.Percentile(fraction), exact);
    EXPECT_LE(snapshot.Percentile(fraction), exact + exact / kSubBuckets);
  }
  EXPECT_EQ(snapshot.Percentile(1.0), values.back());
  EXPECT_EQ(snapshot.count(), values.size());
}

TEST(Histogram, CountsUpToPowersOfTwoExactly) {
  Histograms histograms(1);
  for (uint64_t value = 0; value <= 300; ++value) histograms.of(0).Record(value);
  const HistogramSnapshot snapshot(histograms);
  for (unsigned exponent = 0; exponent <= 8; ++exponent) {
    EXPECT_EQ(snapshot.CountUpToPowerOfTwo(exponent), (uint64_t{1} << exponent) + 1);
  }
  EXPECT_EQ(snapshot.CountUpToPowerOfTwo(9), 301u);
  EXPECT_EQ(snapshot.sum(), 300u * 301 / 2);
  EXPECT_DOUBLE_EQ(snapshot.mean(), 150);
}

TEST(Histogram, EmptyIsZero) {
  const HistogramSnapshot snapshot;
  EXPECT_EQ(snapshot.Percentile(0.99), 0u);
  EXPECT_EQ(snapshot.mean(), 0);
}

TEST(Histogram, SinceLeavesOutWhatWasBefore) {
  Histograms histograms(1);
  histograms.of(0).Record(1000);
  const HistogramSnapshot before(histograms);
  histograms.of(0).Record(3);
  histograms.of(0).Record(5);
  const HistogramSnapshot since = HistogramSnapshot(histograms).Since(before);
  EXPECT_EQ(since.count(), 2u);
  EXPECT_EQ(since.sum(), 8u);
  EXPECT_EQ(since.Percentile(0.5), 3u);
}

TEST(Histogram, WritersAndReadersAtOnce) {
  constexpr size_t kWriters = 4;
  constexpr uint64_t kPerWriter = 50'000;
  Histograms histograms(kWriters);
  std::atomic<size_t> done{0};
  std::vector<std::thread> threads;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&histograms, &done, writer] {
      for (uint64_t i = 1; i <= kPerWriter; ++i) histograms.of(writer).Record(i);
      ++done;
    });
  }
  uint64_t last = 0;
  while (done < kWriters) {
    const HistogramSnapshot snapshot(histograms);
    EXPECT_GE(snapshot.count(), last);
    last = snapshot.count();
  }
  for (std::thread& thread : threads) thread.join();
  const HistogramSnapshot snapshot(histograms);
  EXPECT_EQ(snapshot.count(), kWriters * kPerWriter);
  EXPECT_EQ(snapshot.sum(), kWriters * kPerWriter * (kPerWriter + 1) / 2);
  EXPECT_EQ(snapshot.max(), kPerWriter);
}

}  // namespace
}  // namespace queen::metrics
