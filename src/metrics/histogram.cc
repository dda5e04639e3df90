#include "metrics/histogram.h"

#include <cassert>

namespace queen::metrics {

HistogramSnapshot::HistogramSnapshot(const Histograms& histograms) {
  histograms.ForEach([this](const Histogram& histogram) { Add(histogram); });
}

void HistogramSnapshot::Add(const Histogram& histogram) {
  for (size_t i = 0; i < kHistogramBuckets; ++i) {
    const uint64_t n = histogram.buckets_[i].load(std::memory_order_relaxed);
    buckets_[i] += n;
    count_ += n;
  }
  sum_ += histogram.sum_.load(std::memory_order_relaxed);
}

uint64_t HistogramSnapshot::CountUpToPowerOfTwo(unsigned exponent) const {
  assert(exponent <= kHistogramValueBits);
  uint64_t total = 0;
  for (size_t i = 0; i <= exponent; ++i) total += buckets_[i];
  return total;
}

}  // namespace queen::metrics
