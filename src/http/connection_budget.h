// How many connections the whole process may have open. Shared by every worker, any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace queen::http {

class ConnectionBudget {
 public:
  explicit ConnectionBudget(int64_t connections_max) : connections_max_(connections_max) {}

  // Takes one, or returns false when none is left.
  [[nodiscard]] bool TryTake() {
    if (taken_.fetch_add(1, std::memory_order_relaxed) < connections_max_) return true;
    Return();
    return false;
  }
  void Return() { taken_.fetch_sub(1, std::memory_order_relaxed); }

  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  int64_t connections_max() const { return connections_max_; }

 private:
  const int64_t connections_max_;
  std::atomic<int64_t> taken_{0};
};

}  // namespace queen::http
