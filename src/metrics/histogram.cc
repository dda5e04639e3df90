#include "metrics/histogram.h"

#include <algorithm>
#include <cassert>
#include <cmath>

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
  max_ = std::max(max_, histogram.max_.load(std::memory_order_relaxed));
}

double HistogramSnapshot::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t HistogramSnapshot::Percentile(double fraction) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < kHistogramBuckets - 1; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(BucketUpperEdge(i), max_);
  }
  return max_;  // the last bucket has no upper end
}

uint64_t HistogramSnapshot::CountUpToPowerOfTwo(unsigned exponent) const {
  assert(exponent <= kHistogramValueBits);
  const size_t last = BucketOf(uint64_t{1} << exponent);
  uint64_t total = 0;
  for (size_t i = 0; i <= last; ++i) total += buckets_[i];
  return total;
}

HistogramSnapshot HistogramSnapshot::Since(const HistogramSnapshot& earlier) const {
  HistogramSnapshot difference = *this;
  for (size_t i = 0; i < kHistogramBuckets; ++i) difference.buckets_[i] -= earlier.buckets_[i];
  difference.count_ -= earlier.count_;
  difference.sum_ -= earlier.sum_;
  return difference;
}

}  // namespace queen::metrics
