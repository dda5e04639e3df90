#include "bench/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace queen::bench {

// Numbers below 2^kPartBits have a bucket each; above, the leading bit and the kPartBits behind it
// choose.
size_t Latency::BucketOf(uint64_t value) {
  if (value >> kPartBits == 0) return static_cast<size_t>(value);
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kPartBits;
  return (size_t{shift} << kPartBits) + static_cast<size_t>(value >> shift);
}

uint64_t Latency::LastOf(size_t bucket) {
  if (bucket >> kPartBits == 0) return bucket;
  const size_t shift = (bucket >> kPartBits) - 1;
  const uint64_t leading = (bucket & ((size_t{1} << kPartBits) - 1)) + (uint64_t{1} << kPartBits);
  return ((leading + 1) << shift) - 1;
}

void Latency::Record(int64_t micros) {
  constexpr int64_t kLargest = (int64_t{1} << kValueBits) - 1;
  micros = std::clamp<int64_t>(micros, 0, kLargest);
  ++buckets_[BucketOf(static_cast<uint64_t>(micros))];
  ++count_;
  sum_ += static_cast<uint64_t>(micros);
  max_ = std::max(max_, micros);
}

double Latency::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

int64_t Latency::Percentile(double fraction) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(static_cast<int64_t>(LastOf(i)), max_);
  }
  return max_;
}

LatencySummary Summarize(const Latency& latency) {
  return {.count = latency.count(),
          .mean_us = latency.mean(),
          .p50_us = latency.Percentile(0.5),
          .p90_us = latency.Percentile(0.9),
          .p99_us = latency.Percentile(0.99),
          .p999_us = latency.Percentile(0.999),
          .max_us = latency.max()};
}

}  // namespace queen::bench
