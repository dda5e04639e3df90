// How many bytes of request bodies the whole process may hold: those that are arriving, and those
// that have arrived and are not answered, whether or not their client is still there. Requests of
// the bulk kind (Settings::bulk_path) may have three quarters of it, so that a flood of them leaves
// room for the others. Shared by every worker, any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace queen::http {

class RequestBudget {
 public:
  explicit RequestBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes `bytes`, or returns false when there is no room for them.
  [[nodiscard]] bool TryTake(size_t bytes, bool bulk) {
    const size_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= BytesMax(bulk)) return true;
    Return(bytes);
    return false;
  }
  void Return(size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

  size_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  size_t BytesMax(bool bulk) const { return bulk ? bytes_max_ / 4 * 3 : bytes_max_; }

  const size_t bytes_max_;
  std::atomic<size_t> taken_{0};
};

}  // namespace queen::http
