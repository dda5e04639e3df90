// SpanRing: the spans of one worker on their way to the exporter. One thread adds, one takes;
// neither ever waits for the other. What comes while it is full is dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "observe/span.h"

namespace queen::observe {

class SpanRing {
 public:
  explicit SpanRing(size_t capacity) : slots_(capacity) {}

  // By the one that adds. Returns how many there are then; 0: it was full, and the span is lost.
  size_t Add(Span span) {
    const size_t end = end_.load(std::memory_order_relaxed);
    const size_t size = end - begin_.load(std::memory_order_acquire);
    if (size == slots_.size()) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return 0;
    }
    slots_[end % slots_.size()] = std::move(span);
    end_.store(end + 1, std::memory_order_release);
    return size + 1;
  }

  // By the one that takes. Appends the oldest, `count_max` at most.
  void Take(size_t count_max, std::vector<Span>& spans) {
    size_t begin = begin_.load(std::memory_order_relaxed);
    const size_t end = end_.load(std::memory_order_acquire);
    for (; begin != end && count_max > 0; ++begin, --count_max) {
      spans.push_back(std::exchange(slots_[begin % slots_.size()], Span()));
      begin_.store(begin + 1, std::memory_order_release);
    }
  }

  // Any thread.
  size_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<Span> slots_;
  // Of the first span and behind the last; they only rise.
  std::atomic<size_t> begin_{0};
  std::atomic<size_t> end_{0};
  std::atomic<size_t> dropped_{0};
};

}  // namespace queen::observe
