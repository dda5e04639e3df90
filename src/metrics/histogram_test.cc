#include "metrics/histogram.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace queen::metrics {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << kHistogramValueBits;

TEST(Histogram, EveryValueLiesWithinItsBucket) {
  EXPECT_EQ(BucketOf(0), 0U);
  EXPECT_EQ(BucketOf(1), 0U);
  for (unsigned bit = 1; bit <= kHistogramValueBits; ++bit) {
    const uint64_t edge = uint64_t{1} << bit;
    EXPECT_EQ(BucketOf(edge), bit);
    EXPECT_EQ(BucketOf(edge + 1), bit + 1);
    EXPECT_EQ(BucketOf(edge / 2 + 1), bit);
  }
  EXPECT_EQ(BucketOf(~uint64_t{0}), kHistogramBuckets - 1);
}

TEST(Histogram, NothingIsTooLarge) {
  Histograms histograms(1);
  histograms.of(0).Record(~uint64_t{0});
  histograms.of(0).Record(kLargest + 1);
  const HistogramSnapshot snapshot(histograms);
  EXPECT_EQ(snapshot.count(), 2u);
  EXPECT_EQ(snapshot.CountUpToPowerOfTwo(kHistogramValueBits), 0u);
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
}

}  // namespace
}  // namespace queen::metrics
