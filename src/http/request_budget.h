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
//   of these: all that is not whole                   4                  5
//
// So whoever sends bodies slowly leaves room for complete ones, and for small ones if they are
// large; and a flood of bulk leaves room for the others.
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
    bool arriving = false;  // not whole yet
    bool large = false;     // above kSmallBytes
  };

  explicit RequestBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes `bytes`, or returns false when there is no room for them.
  [[nodiscard]] bool TryTake(size_t bytes, Kind kind) {
    if (!TryAdd(taken_, bytes, BytesMax(kind))) return false;
    if (!kind.arriving || TryAdd(arriving_, bytes, ArrivingMax(kind.bulk))) return true;
    Return(bytes);
    return false;
  }
  // Bytes that were taken for a body that was arriving are not counted as such any more: it is
  // whole, or about to be returned.
  void Arrived(size_t bytes) { arriving_.fetch_sub(bytes, std::memory_order_relaxed); }
  void Return(size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Whether `bytes` would be given if `returned`, of arriving bodies, came back first.
  bool HasRoom(size_t bytes, Kind kind, size_t returned = 0) const {
    return taken() + bytes <= BytesMax(kind) + returned &&
           (!kind.arriving || arriving() + bytes <= ArrivingMax(kind.bulk) + returned);
  }
  // A body longer than this never finds room, however little is going on.
  size_t LargestBody(bool bulk) const {
    return std::max(ArrivingMax(bulk), std::min(kSmallBytes, BytesMax({.bulk = bulk})));
  }

  size_t taken() const { return taken_.load(std::memory_order_relaxed); }
  size_t arriving() const { return arriving_.load(std::memory_order_relaxed); }

 private:
  static bool TryAdd(std::atomic<size_t>& sum, size_t bytes, size_t sum_max) {
    const size_t before = sum.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= sum_max) return true;
    sum.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  size_t ArrivingMax(bool bulk) const { return bytes_max_ / 8 * (bulk ? 4 : 5); }
  size_t BytesMax(Kind kind) const {
    if (kind.arriving && kind.large) return ArrivingMax(kind.bulk);
    return kind.bulk ? bytes_max_ / 4 * 3 : bytes_max_;
  }

  const size_t bytes_max_;
  std::atomic<size_t> taken_{0};
  std::atomic<size_t> arriving_{0};  // of these, for bodies that are not whole
};

}  // namespace queen::http
