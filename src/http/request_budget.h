// How many bytes of request bodies the whole process may hold: those that are arriving, and those
// that have arrived and are not answered, whether or not their client is still there. Shared by
// every worker, any thread.
//
// A body is charged for the memory it takes, never for what its client says will come. Nobody waits
// for room, so nobody holds some while waiting for more: a body that finds none is refused. How far
// each kind may go, in eighths of the whole:
//
//                                         bulk (Settings::bulk_path)   others
//   larger than kSmallBytes, not whole                4                  5
//   the rest                                          6                  8
//
// So whoever sends large bodies slowly leaves room for small and for complete ones, and a flood of
// bulk leaves room for the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace queen::http {

class RequestBudget {
 public:
  static constexpr size_t kSmallBytes = size_t{64} << 10;

  struct Kind {
    bool bulk = false;
    bool large_and_arriving = false;
  };

  explicit RequestBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes `bytes`, or returns false when there is no room for them.
  [[nodiscard]] bool TryTake(size_t bytes, Kind kind) {
    const size_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= BytesMax(kind)) return true;
    Return(bytes);
    return false;
  }
  void Return(size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Whether `bytes` would be given if `returned` came back first.
  bool HasRoom(size_t bytes, Kind kind, size_t returned = 0) const {
    return taken() + bytes <= BytesMax(kind) + returned;
  }
  // A body longer than this never finds room, however little is going on.
  size_t LargestBody(bool bulk) const {
    return std::max(BytesMax({bulk, true}), std::min(kSmallBytes, BytesMax({bulk, false})));
  }

  size_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  size_t BytesMax(Kind kind) const {
    if (kind.large_and_arriving) return bytes_max_ / 8 * (kind.bulk ? 4 : 5);
    return kind.bulk ? bytes_max_ / 4 * 3 : bytes_max_;
  }

  const size_t bytes_max_;
  std::atomic<size_t> taken_{0};
};

}  // namespace queen::http
