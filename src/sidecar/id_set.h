// IdSet: a set of 64-bit hashes that grows without pauses. A directory, indexed by the first bits
// of a hash, leads to buckets of up to kSlotsMax slots; a full bucket is split in two, so no
// insertion moves more than one bucket's hashes. REQUIRES: the hashes are spread evenly
// (KeyedHash). Some 12 bytes each; a small set is small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace queen::sidecar {

class IdSet {
 public:
  static constexpr size_t kSlotsMax = 512;

  bool Contains(uint64_t hash) const;
  void Insert(uint64_t hash);

  size_t size() const { return size_; }
  // What it takes of memory.
  size_t bytes() const { return bytes_; }

 private:
  struct Bucket {
    std::vector<uint64_t> slots;  // open addressing; 0 is free
    uint32_t count = 0;
    uint32_t depth = 0;  // how many first bits its hashes have in common

    bool Contains(uint64_t hash) const;
    // Returns whether it was not there. REQUIRES: a slot is free
    bool Insert(uint64_t hash);
    bool IsFull() const { return (size_t{count} + 1) * 8 > slots.size() * 7; }
    void Resize(size_t size);
  };

  size_t PlaceOf(uint64_t hash) const { return depth_ == 0 ? 0 : hash >> (64 - depth_); }
  void Split(size_t place, uint64_t hash);
  void Measure(size_t slots_before, size_t slots_now);

  uint32_t depth_ = 0;
  std::vector<uint32_t> directory_;  // 2^depth_ indexes of buckets_; empty while there is none
  std::vector<Bucket> buckets_;
  size_t size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace queen::sidecar
