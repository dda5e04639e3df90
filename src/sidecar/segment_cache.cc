#include "sidecar/segment_cache.h"

namespace queen::sidecar {
namespace {

constexpr size_t kEntryOverhead = 256;  // list node, map node, shared pointer, the segment itself

}  // namespace

size_t SegmentCache::CostOf(const storage::Segment& segment) {
  return segment.bytes() + kEntryOverhead;
}

void SegmentCache::Drop(List::iterator entry) {
  bytes_ -= CostOf(**entry);
  by_key_.erase({(*entry)->partition, (*entry)->base_seq});
  recent_.erase(entry);
}

void SegmentCache::Put(storage::SegmentPtr segment) {
  const size_t cost = CostOf(*segment);
  const Key key{segment->partition, segment->base_seq};
  if (const auto known = by_key_.find(key); known != by_key_.end()) Drop(known->second);
  if (cost > bytes_max_) return;
  recent_.push_front(std::move(segment));
  by_key_.emplace(key, recent_.begin());
  bytes_ += cost;
  while (bytes_ > bytes_max_) Drop(std::prev(recent_.end()));
}

storage::SegmentPtr SegmentCache::Find(PartitionId partition, int64_t base_seq, int32_t count,
                                       int64_t created_micros) {
  const auto known = by_key_.find({partition, base_seq});
  if (known == by_key_.end() || (*known->second)->count != count ||
      (*known->second)->created_micros != created_micros) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  recent_.splice(recent_.begin(), recent_, known->second);
  return *known->second;
}

void SegmentCache::Clear() {
  recent_.clear();
  by_key_.clear();
  bytes_ = 0;
}

}  // namespace queen::sidecar
