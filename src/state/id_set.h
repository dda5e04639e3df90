// IdSet: a set of ids as bits, in pages of neighbours. Ids of one queue's partitions are mostly
// made together, so a million of them take a bit each, not a node each; a lone one takes a page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace queen::state {

class IdSet {
 public:
  // True when it was not in. REQUIRES: id >= 0
  bool Insert(int32_t id);
  // True when it was in.
  bool Erase(int32_t id);
  bool Contains(int32_t id) const;
  void Clear();
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr int32_t kWords = 8;
  using Page = std::array<uint64_t, kWords>;

  static int32_t PageOf(int32_t id) { return id / (kWords * 64); }
  static size_t WordOf(int32_t id) { return static_cast<size_t>(id / 64 % kWords); }
  static uint64_t BitOf(int32_t id) { return uint64_t{1} << (id % 64); }

  std::unordered_map<int32_t, Page> pages_;
  size_t size_ = 0;
};

}  // namespace queen::state
