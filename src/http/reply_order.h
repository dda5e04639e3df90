// The order of those who wait for room for a large reply: what the first of them needs is left free
// by all others, so that smaller replies do not take the room from before it again and again. Any
// thread. Only waiting takes the mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace queen::http {

class ReplyOrder {
 public:
  // A place behind all others, for who waits for room for `bytes`. Never 0. It is kept until Leave.
  uint64_t Join(size_t bytes) {
    const std::lock_guard lock(mutex_);
    places_.emplace(++last_, bytes);
    NameFirst();
    return last_;
  }
  // Who has `place` needs `bytes` instead.
  void Change(uint64_t place, size_t bytes) {
    const std::lock_guard lock(mutex_);
    places_[place] = bytes;
    NameFirst();
  }
  void Leave(uint64_t place) {
    const std::lock_guard lock(mutex_);
    places_.erase(place);
    NameFirst();
  }

  // What who has `place` (0: none) leaves free for the first. It may be that of a moment ago: this
  // is about who comes next, not about how much there is.
  size_t KeptFrom(uint64_t place) const {
    if (place != 0 && place == first_.load(std::memory_order_relaxed)) return 0;
    return kept_.load(std::memory_order_relaxed);
  }

 private:
  // REQUIRES: mutex_ is held
  void NameFirst() {
    const auto first = places_.begin();
    first_.store(first == places_.end() ? 0 : first->first, std::memory_order_relaxed);
    kept_.store(first == places_.end() ? 0 : first->second, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::map<uint64_t, size_t> places_;
  uint64_t last_ = 0;
  std::atomic<uint64_t> first_{0};  // 0: nobody waits
  std::atomic<size_t> kept_{0};     // what it needs
};

}  // namespace queen::http
