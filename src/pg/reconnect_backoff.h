// ReconnectBackoff: the pause before the next attempt, exponential with full jitter, so that many
// connections that lost one server do not come back in step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.h"

namespace queen::pg {

class ReconnectBackoff {
 public:
  // REQUIRES: 0 < base_ms <= max_ms
  ReconnectBackoff(int64_t base_ms, int64_t max_ms) : base_ms_(base_ms), max_ms_(max_ms) {}

  // The longest pause Next can give now: base * 2^attempts, at most max.
  int64_t CeilingMs() const {
    const int doublings = std::min(attempts_, 30);
    return std::min(base_ms_ << doublings, max_ms_);
  }

  // Milliseconds to wait, in [0, CeilingMs()]; the next ceiling is twice as high.
  int64_t Next(std::mt19937_64& random) {
    const int64_t ceiling = CeilingMs();
    ++attempts_;
    return RandomBetween(random, 0, ceiling);
  }

  int attempts() const { return attempts_; }
  void Reset() { attempts_ = 0; }

 private:
  int64_t base_ms_;
  int64_t max_ms_;
  int attempts_ = 0;
};

}  // namespace queen::pg
