// SegmentCache: the segments a worker pushed or fetched lately, bounded in bytes; the least
// recently used leave first. Segments are immutable, so a hit is valid if its key is: partition,
// base_seq, count and created_at must all be those the lease has named.
#pragma once

#include <list>
#include <unordered_map>

#include "storage/segment.h"

namespace queen::sidecar {

class SegmentCache {
 public:
  explicit SegmentCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  void Put(storage::SegmentPtr segment);
  // nullptr on a miss.
  storage::SegmentPtr Find(PartitionId partition, int64_t base_seq, int32_t count,
                           int64_t created_micros);
  void Clear();

  size_t bytes() const { return bytes_; }
  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }

 private:
  struct Key {
    PartitionId partition;
    int64_t base_seq;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>(key.base_seq) * 0x9E3779B97F4A7C15U ^
             static_cast<size_t>(key.partition.value) * 0xC2B2AE3D27D4EB4FU;
    }
  };
  using List = std::list<storage::SegmentPtr>;  // most recently used first

  static size_t CostOf(const storage::Segment& segment);
  void Drop(List::iterator entry);

  const size_t bytes_max_;
  size_t bytes_ = 0;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  List recent_;
  std::unordered_map<Key, List::iterator, Hash> by_key_;
};

}  // namespace queen::sidecar
