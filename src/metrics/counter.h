// Counters. Each instance has one writing thread and any number of readers: a write is
// a relaxed load and store, no locked instruction, and each instance has a cache line of its own.
// What several threads count is a PerWriter: an instance per thread, added up when read.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace queen::metrics {

constexpr size_t kCacheLineBytes = 64;

// Only rises.
class alignas(kCacheLineBytes) Counter {
 public:
  void Add(uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// One Metric per writing thread. Thread i writes to of(i) and to no other.
template <typename Metric>
class PerWriter {
 public:
  explicit PerWriter(size_t writers)
      : writers_(writers), metrics_(std::make_unique<Metric[]>(writers)) {}

  Metric& of(size_t writer) {
    assert(writer < writers_);
    return metrics_[writer];
  }

  size_t writers() const { return writers_; }

  // Any thread.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < writers_; ++i) visit(static_cast<const Metric&>(metrics_[i]));
  }

 private:
  size_t writers_;
  std::unique_ptr<Metric[]> metrics_;
};

// Counters in rows and columns that are known at the start. One writing thread, as with Counter.
class CounterGrid {
 public:
  CounterGrid(size_t rows, size_t columns)
      : columns_(columns), cells_(std::make_unique<std::atomic<uint64_t>[]>(rows * columns)) {}

  void Add(size_t row, size_t column, uint64_t n = 1) {
    std::atomic<uint64_t>& cell = cells_[row * columns_ + column];
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // Any thread.
  uint64_t value(size_t row, size_t column) const {
    return cells_[row * columns_ + column].load(std::memory_order_relaxed);
  }

 private:
  size_t columns_;
  std::unique_ptr<std::atomic<uint64_t>[]> cells_;
};

using Counters = PerWriter<Counter>;

// The sum over the writers. Any thread.
inline uint64_t Total(const Counters& counters) {
  uint64_t total = 0;
  counters.ForEach([&total](const Counter& counter) { total += counter.value(); });
  return total;
}

}  // namespace queen::metrics
