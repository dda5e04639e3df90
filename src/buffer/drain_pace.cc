#include "buffer/drain_pace.h"

namespace queen::buffer {

void DrainPace::Turn(int64_t now_ms) {
  const int64_t window = now_ms / kWindowMs;
  if (window == window_) return;
  settled_before_ = window == window_ + 1 ? settled_ : 0;
  settled_ = 0;
  appended_ = 0;
  window_ = window;
}

void DrainPace::Appended(int64_t now_ms, int64_t messages) {
  const std::lock_guard lock(mutex_);
  Turn(now_ms);
  appended_ += messages;
}

void DrainPace::Settled(int64_t now_ms, int64_t messages) {
  const std::lock_guard lock(mutex_);
  Turn(now_ms);
  settled_ += messages;
}

bool DrainPace::MayAppend(int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Turn(now_ms);
  return 2 * appended_ < settled_before_;
}

int64_t DrainPace::settled_per_window(int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Turn(now_ms);
  return settled_before_;
}

}  // namespace queen::buffer
