// Histograms of whole numbers (microseconds, items): one bucket per power of two, inclusive above,
// so the number of values <= 2^k is known exactly, which is what Prometheus' "le" asks for. Fixed
// memory (about 300 bytes) whatever is recorded. One writing thread per instance, as with counters.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "metrics/counter.h"

namespace queen::metrics {

// Larger values (19 hours in microseconds) count in one bucket more.
constexpr unsigned kHistogramValueBits = 36;
constexpr size_t kHistogramBuckets = kHistogramValueBits + 2;

// The first k with value <= 2^k.
constexpr size_t BucketOf(uint64_t value) {
  if (value <= 1) return 0;
  return std::min<size_t>(static_cast<size_t>(std::bit_width(value - 1)), kHistogramBuckets - 1);
}

class alignas(kCacheLineBytes) Histogram {
 public:
  void Record(uint64_t value) {
    Bump(buckets_[BucketOf(value)], 1);
    Bump(sum_, value);
  }

 private:
  friend class HistogramSnapshot;
  static void Bump(std::atomic<uint64_t>& cell, uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kHistogramBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
};

using Histograms = PerWriter<Histogram>;

// The state of several histograms at about one moment. Not shared between threads.
class HistogramSnapshot {
 public:
  explicit HistogramSnapshot(const Histograms& histograms);

  // The number of values; always the sum of the buckets.
  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }

  // How many values are <= 2^exponent, exactly. REQUIRES: exponent <= kHistogramValueBits
  uint64_t CountUpToPowerOfTwo(unsigned exponent) const;

 private:
  void Add(const Histogram& histogram);

  std::array<uint64_t, kHistogramBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace queen::metrics
