// How many bytes of replies the process holds that their clients have not taken. Only connections
// that hold more than kCountedFrom are counted, so that small replies cost nothing here. It refuses
// nobody by itself: while it is full, nothing is begun whose reply may be large (pops). Shared by
// every worker, any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace queen::http {

class ReplyBudget {
 public:
  static constexpr size_t kCountedFrom = size_t{64} << 10;

  explicit ReplyBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A connection that held `before` bytes now holds `now`.
  void Change(size_t before, size_t now) {
    const size_t counted_before = Counted(before);
    const size_t counted_now = Counted(now);
    if (counted_before == counted_now) return;
    held_.fetch_add(counted_now - counted_before, std::memory_order_relaxed);  // wraps as it should
  }

  bool full() const { return held() >= bytes_max_; }
  size_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  static size_t Counted(size_t bytes) { return bytes > kCountedFrom ? bytes : 0; }

  const size_t bytes_max_;
  std::atomic<size_t> held_{0};
};

}  // namespace queen::http
