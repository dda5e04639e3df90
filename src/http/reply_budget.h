// How many bytes of replies the process holds that their clients have not taken, and how many are
// on their way. Shared by every worker, any thread.
//
//   Connections are counted when they hold, or have promised, more than kSmallBytes, so that small
//   replies cost nothing here (Change). A reply that may be refused, or be large, takes its room
//   before it is held (TryChange, by way of Reply::TakeRoom).
//   Pops take room before their messages are read (TryTake), and return it when the connection
//   has the reply.
//
// Large pops may have six eighths of the whole and other large replies seven, so that clients that
// do not read leave room for small pops, and large pops leave some for all others. Of that, the
// pages of operators may have two eighths together, or one of them alone five, so that pages which
// nobody reads leave room for large pops (TryTakePage, beside TryChange).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "http/reply_order.h"

namespace queen::http {

class ReplyBudget {
 public:
  static constexpr size_t kSmallBytes = size_t{64} << 10;

  explicit ReplyBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A connection that held `before` bytes now holds `now`.
  void Change(size_t before, size_t now) {
    const size_t counted_before = IsLarge(before) ? before : 0;
    const size_t counted_now = IsLarge(now) ? now : 0;
    if (counted_before == counted_now) return;
    large_.fetch_add(counted_now - counted_before,
                     std::memory_order_relaxed);  // wraps as it should
  }

  // The same, unless it makes what is counted more than there is room for: false then, and nothing
  // has changed.
  [[nodiscard]] bool TryChange(size_t before, size_t now) {
    if (now <= before || !IsLarge(now)) {
      Change(before, now);
      return true;
    }
    const size_t more = now - (IsLarge(before) ? before : 0);
    size_t taken = large();
    do {
      if (taken + more > largest()) return false;
    } while (!large_.compare_exchange_weak(taken, taken + more, std::memory_order_relaxed));
    return true;
  }
  // What TryChange gives room for when nothing else is held.
  size_t largest() const { return std::max(kSmallBytes, bytes_max_ / 8 * 7); }

  // Counts a page of `bytes` among the pages, or returns false when they have no room for it now.
  // ReturnPages when its client has taken it.
  [[nodiscard]] bool TryTakePage(size_t bytes) {
    size_t taken = pages_.load(std::memory_order_relaxed);
    do {
      if (taken + bytes > (taken == 0 ? largest_page() : bytes_max_ / 4)) return false;
    } while (!pages_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void ReturnPages(size_t bytes) { pages_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t largest_page() const { return std::max(kSmallBytes, bytes_max_ / 8 * 5); }

  // Takes room for a pop's reply of `bytes`, or returns false when there is none now. A large one
  // is let in whatever its size when there is no other. It leaves free what the first in order()
  // needs, unless `place` is that one's.
  [[nodiscard]] bool TryTake(size_t bytes, uint64_t place = 0) {
    std::atomic<size_t>& kind = KindOf(bytes);
    const size_t kept = order_.KeptFrom(place);
    size_t taken = kind.load(std::memory_order_relaxed);
    do {
      const bool fits = IsLarge(bytes) ? taken + kept == 0 || taken + kept + bytes <= large_max()
                                       : taken + large() + bytes <= bytes_max_;
      if (!fits) return false;
    } while (!kind.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  // The room taken for `before` bytes is for `now` bytes; 0: it is returned.
  void Resize(size_t before, size_t now) {
    KindOf(now).fetch_add(now, std::memory_order_relaxed);
    KindOf(before).fetch_sub(before, std::memory_order_relaxed);
  }

  // Not even a small reply has room.
  bool full() const { return held() + kSmallBytes > bytes_max_; }
  // What is left for large replies of those who have no place in order().
  size_t large_free() const {
    const size_t taken = large() + order_.KeptFrom(0);
    return taken < large_max() ? large_max() - taken : 0;
  }
  size_t held() const { return small() + large(); }
  // Who waits until TryTake succeeds for a large reply.
  ReplyOrder& order() { return order_; }

  static bool IsLarge(size_t bytes) { return bytes > kSmallBytes; }

 private:
  std::atomic<size_t>& KindOf(size_t bytes) { return IsLarge(bytes) ? large_ : small_; }
  size_t large() const { return large_.load(std::memory_order_relaxed); }
  size_t small() const { return small_.load(std::memory_order_relaxed); }
  size_t large_max() const { return bytes_max_ / 4 * 3; }

  const size_t bytes_max_;
  std::atomic<size_t> large_{0};  // held by connections, or taken for large replies
  std::atomic<size_t> small_{0};  // taken for small replies
  std::atomic<size_t> pages_{0};  // of large_, those of pages
  ReplyOrder order_;
};

}  // namespace queen::http
