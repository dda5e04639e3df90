// Timer: a uv_timer_t with an owner. Destroying it closes the handle; its callback never runs after
// Stop or destruction, and may destroy the timer itself.
#pragma once

#include <cstdint>
#include <memory>

#include "loop/loop.h"

namespace queen {

class Timer {
 public:
  using Callback = UniqueFunction<void()>;

  Timer(Loop& loop, Callback callback);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Fires once after `delay_ms`, or again every `repeat_ms` when that is > 0. Restarts a running
  // timer.
  void Start(int64_t delay_ms, int64_t repeat_ms = 0);
  void Stop();
  bool IsActive() const;

 private:
  struct State;
  State* state_;  // freed by the close callback
};

}  // namespace queen
