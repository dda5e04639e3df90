// Latency: a histogram of microseconds for reports. Every power of two is cut in 128 parts, so a
// percentile is off by less than 1 % (the histograms of the broker's metrics, at 6 %, are too
// coarse to compare two minutes of a run). One thread; 32 KiB whatever is recorded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace queen::bench {

class Latency {
 public:
  // Negative values count as 0, those over 2^40 (12 days) as that.
  void Record(int64_t micros);
  void Reset() { *this = {}; }

  uint64_t count() const { return count_; }
  int64_t max() const { return max_; }
  double mean() const;

  // The value that `fraction` (0..1) of the values do not exceed, rounded up to the edge of its
  // bucket but never above max(); 0 when nothing was recorded.
  int64_t Percentile(double fraction) const;

 private:
  static constexpr unsigned kPartBits = 7;
  static constexpr unsigned kValueBits = 40;
  static constexpr size_t kBuckets = (kValueBits - kPartBits + 1) << kPartBits;

  static size_t BucketOf(uint64_t value);
  static uint64_t LastOf(size_t bucket);

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  int64_t max_ = 0;
};

// What a report keeps of one.
struct LatencySummary {
  uint64_t count = 0;
  double mean_us = 0;
  int64_t p50_us = 0;
  int64_t p90_us = 0;
  int64_t p99_us = 0;
  int64_t p999_us = 0;
  int64_t max_us = 0;
};

LatencySummary Summarize(const Latency& latency);

}  // namespace queen::bench
