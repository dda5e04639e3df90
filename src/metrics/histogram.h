// Log-linear histograms of whole numbers (microseconds, bytes, items): every power of two is cut in
// kSubBuckets equal parts, so a percentile is off by at most 1/kSubBuckets, in fixed memory
// (about 4 KiB) whatever is recorded. One writing thread per instance, as with counters.
//
// Bucket edges are inclusive above: 2^k is the last value of its bucket, so the number of values
// <= 2^k is known exactly, which is what Prometheus' "le" asks for.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "metrics/counter.h"

namespace queen::metrics {

constexpr unsigned kSubBucketBits = 4;
constexpr size_t kSubBuckets = size_t{1} << kSubBucketBits;
// Larger values (19 hours in microseconds) count in the last bucket.
constexpr unsigned kHistogramValueBits = 36;
constexpr size_t kHistogramBuckets =
    1 + kSubBuckets + (kHistogramValueBits - kSubBucketBits) * kSubBuckets;

// The bucket of `value`: 0 for zero, one per number up to kSubBuckets, then log-linear.
constexpr size_t BucketOf(uint64_t value) {
  if (value == 0) return 0;
  const uint64_t before = value - 1;
  if (before < kSubBuckets) return 1 + static_cast<size_t>(before);
  if (before >> kHistogramValueBits != 0) return kHistogramBuckets - 1;
  const unsigned shift = static_cast<unsigned>(std::bit_width(before)) - 1 - kSubBucketBits;
  // before >> shift is in [kSubBuckets, 2 * kSubBuckets).
  return 1 + shift * kSubBuckets + static_cast<size_t>(before >> shift);
}

// The largest value of the bucket (of the last one: the largest that belongs there by size).
constexpr uint64_t BucketUpperEdge(size_t bucket) {
  if (bucket <= kSubBuckets) return bucket;
  const size_t shift = (bucket - 1) / kSubBuckets - 1;
  const uint64_t part = (bucket - 1) % kSubBuckets + kSubBuckets;
  return (part + 1) << shift;
}

class alignas(kCacheLineBytes) Histogram {
 public:
  void Record(uint64_t value) {
    Bump(buckets_[BucketOf(value)], 1);
    Bump(sum_, value);
    if (value > max_.load(std::memory_order_relaxed)) max_.store(value, std::memory_order_relaxed);
  }

 private:
  friend class HistogramSnapshot;
  static void Bump(std::atomic<uint64_t>& cell, uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kHistogramBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> max_{0};
};

using Histograms = PerWriter<Histogram>;

// The state of one or several histograms at about one moment. Not shared between threads.
class HistogramSnapshot {
 public:
  HistogramSnapshot() = default;
  explicit HistogramSnapshot(const Histograms& histograms);

  void Add(const Histogram& histogram);

  // The number of values; always the sum of the buckets.
  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t max() const { return max_; }
  double mean() const;

  // The value that `fraction` (0..1) of the values do not exceed, rounded up to the edge of its
  // bucket but never above max(); 0 when nothing was recorded.
  uint64_t Percentile(double fraction) const;

  // How many values are <= 2^exponent, exactly. REQUIRES: exponent <= kHistogramValueBits
  uint64_t CountUpToPowerOfTwo(unsigned exponent) const;

  // What was recorded after `earlier`, a snapshot of the same histograms; max stays that of all.
  HistogramSnapshot Since(const HistogramSnapshot& earlier) const;

 private:
  std::array<uint64_t, kHistogramBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace queen::metrics
