// GroupBackoff: when the database is asked in the place of those who wait for one (queue, group):
// the net under lost hints. The first checks come at the base interval; after `threshold` of them
// in a row that brought nothing the interval grows, up to the longest. Whatever wakes a waiter (a
// push, a freed partition) brings it back to the base.
//
//   idle --Arm--> armed --due--> ShouldCheck --TryAcquire--> armed, one more check that was empty
//     ^             |                                          unless Release(had_messages) follows
//     +---Disarm----+
#pragma once

#include <algorithm>
#include <cstdint>

namespace queen::state {

struct BackoffLimits {
  int64_t base_ms = 100;
  int64_t max_ms = 1'000;
  int threshold = 3;
  double multiplier = 2.0;
};

// Of several groups, for people.
struct BackoffStats {
  int64_t groups_tracked = 0;     // somebody waits
  int64_t groups_in_flight = 0;   // the database is being asked
  int64_t groups_backed_off = 0;  // checked in vain at least `threshold` times in a row
};

class GroupBackoff {
 public:
  explicit GroupBackoff(const BackoffLimits& limits)
      : limits_(limits), interval_ms_(limits.base_ms) {}

  // Somebody waits: the next check comes after the interval, unless one is due anyway.
  void Arm(int64_t now_ms) {
    if (at_ms_ == 0) at_ms_ = now_ms + interval_ms_;
  }
  // Nobody waits any more.
  void Disarm() { at_ms_ = 0; }
  // The next check is due at once: what was believed is forgotten.
  void Hurry(int64_t now_ms) { at_ms_ = now_ms; }

  bool ShouldCheck(int64_t now_ms) const { return at_ms_ <= now_ms; }
  // A check begins and counts as empty until Release says otherwise; the next one is set. False:
  // one is `in_flight` already and answers for this one too.
  bool TryAcquire(int64_t now_ms, bool in_flight) {
    if (++empty_ >= limits_.threshold) {
      const auto grown =
          static_cast<int64_t>(static_cast<double>(interval_ms_) * limits_.multiplier);
      interval_ms_ = std::min(grown, limits_.max_ms);
    }
    at_ms_ = now_ms + interval_ms_;
    return !in_flight;
  }
  // What a check, a push or a freed partition has brought.
  void Release(bool had_messages) {
    if (!had_messages) return;
    empty_ = 0;
    interval_ms_ = limits_.base_ms;
  }

  int64_t interval_ms() const { return interval_ms_; }
  // When the next check is due; 0: not armed.
  int64_t at_ms() const { return at_ms_; }
  bool backed_off() const { return empty_ >= limits_.threshold; }

 private:
  BackoffLimits limits_;
  int64_t interval_ms_;
  int64_t at_ms_ = 0;
  int empty_ = 0;
};

}  // namespace queen::state
