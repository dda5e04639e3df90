// Backoff: how long to pause before the next round of tries. Pauses double from `first_delay` to
// `delay_max`; each is drawn between half of that and all of it, so that clients that failed
// together do not come back together. A broker that names a time (Retry-After) is believed, within
// delay_max.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "queen/client.h"

namespace queen::client {

class Backoff {
 public:
  explicit Backoff(const RetryPolicy& policy) : policy_(policy), delay_(policy.first_delay) {}

  template <typename Random>
  std::chrono::milliseconds Next(Random& random,
                                 std::optional<std::chrono::seconds> retry_after = {}) {
    const auto full = std::min(delay_, policy_.delay_max);
    delay_ = std::min(delay_ * 2, policy_.delay_max);
    std::uniform_int_distribution<int64_t> between(full.count() / 2, full.count());
    std::chrono::milliseconds pause(between(random));
    if (retry_after) {
      pause = std::max<std::chrono::milliseconds>(
          pause, std::min<std::chrono::milliseconds>(*retry_after, policy_.delay_max));
    }
    return pause;
  }

 private:
  RetryPolicy policy_;
  std::chrono::milliseconds delay_;
};

}  // namespace queen::client
