// DatabaseClock: what time PostgreSQL's clock shows, as far as its answers tell. The estimate is
// never ahead by more than the two clocks drift apart between two answers, and behind by the way
// back of one. It only says when to try: an append proves the time itself.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace queen::engine {

class DatabaseClock {
 public:
  // An answer that arrives now was made when PostgreSQL's clock showed `micros`; 0: it does not
  // say.
  void Tell(int64_t micros) {
    if (micros > 0) ahead_ = micros - SteadyMicros();
  }
  int64_t NowMicros() const { return SteadyMicros() + ahead_; }

 private:
  int64_t ahead_ = 0;
};

}  // namespace queen::engine
