// DrainPace: keeps the buffer from being filled as fast as it is drained, which clients that push
// again as soon as they are answered would do. While it drains, at most half as much may be
// appended as was settled in the window of time before; what comes beyond that waits. So the buffer
// gets smaller whatever the clients do, and no push waits longer than it takes to drain what is
// before it. Any thread; times are steady milliseconds.
#pragma once

#include <cstdint>
#include <mutex>

namespace queen::buffer {

class DrainPace {
 public:
  static constexpr int64_t kWindowMs = 500;

  void Appended(int64_t now_ms, int64_t messages);
  void Settled(int64_t now_ms, int64_t messages);
  // Whether more may be appended in this window.
  bool MayAppend(int64_t now_ms);
  // Messages settled per window, of late.
  int64_t settled_per_window(int64_t now_ms);

 private:
  // REQUIRES: mutex_ is held
  void Turn(int64_t now_ms);

  std::mutex mutex_;
  int64_t window_ = 0;  // from here on guarded by mutex_
  int64_t appended_ = 0;
  int64_t settled_ = 0;
  int64_t settled_before_ = 0;
};

}  // namespace queen::buffer
