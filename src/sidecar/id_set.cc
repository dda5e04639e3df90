#include "sidecar/id_set.h"

#include <utility>

namespace queen::sidecar {
namespace {

constexpr size_t kSlotsMin = 8;

// 0 stands for a free slot: the hash 0 is taken for 1, which is only doubt.
uint64_t Stored(uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

bool IdSet::Bucket::Contains(uint64_t hash) const {
  const size_t mask = slots.size() - 1;
  for (size_t i = hash & mask; slots[i] != 0; i = (i + 1) & mask) {
    if (slots[i] == hash) return true;
  }
  return false;
}

bool IdSet::Bucket::Insert(uint64_t hash) {
  const size_t mask = slots.size() - 1;
  size_t i = hash & mask;
  for (; slots[i] != 0; i = (i + 1) & mask) {
    if (slots[i] == hash) return false;
  }
  slots[i] = hash;
  ++count;
  return true;
}

void IdSet::Bucket::Resize(size_t size) {
  const std::vector<uint64_t> before = std::exchange(slots, std::vector<uint64_t>(size));
  count = 0;
  for (const uint64_t hash : before) {
    if (hash != 0) Insert(hash);
  }
}

bool IdSet::Contains(uint64_t hash) const {
  hash = Stored(hash);
  return !directory_.empty() && buckets_[directory_[PlaceOf(hash)]].Contains(hash);
}

void IdSet::Insert(uint64_t hash) {
  hash = Stored(hash);
  if (directory_.empty()) {
    directory_.push_back(0);
    buckets_.emplace_back().Resize(kSlotsMin);
    Measure(0, kSlotsMin);
  }
  for (;;) {
    const size_t place = PlaceOf(hash);
    Bucket& bucket = buckets_[directory_[place]];
    if (!bucket.IsFull()) {
      if (bucket.Insert(hash)) ++size_;
      return;
    }
    const size_t slots = bucket.slots.size();
    if (slots < kSlotsMax) {
      bucket.Resize(slots * 2);
      Measure(slots, slots * 2);
    } else {
      Split(place, hash);
    }
  }
}

void IdSet::Split(size_t place, uint64_t hash) {
  const uint32_t old_index = directory_[place];
  const uint32_t depth = buckets_[old_index].depth;
  if (depth == depth_) {
    std::vector<uint32_t> wider(directory_.size() * 2);
    for (size_t i = 0; i < wider.size(); ++i) wider[i] = directory_[i / 2];
    directory_ = std::move(wider);
    ++depth_;
  }
  const auto new_index = static_cast<uint32_t>(buckets_.size());
  Bucket& upper = buckets_.emplace_back();
  Bucket& lower = buckets_[old_index];
  const std::vector<uint64_t> hashes = std::exchange(lower.slots, std::vector<uint64_t>(kSlotsMax));
  upper.slots.resize(kSlotsMax);
  lower.count = 0;
  lower.depth = upper.depth = depth + 1;
  for (const uint64_t one : hashes) {
    if (one == 0) continue;
    ((one >> (63 - depth) & 1) == 0 ? lower : upper).Insert(one);
  }
  // The entries of a bucket stand together; the second half of them has the next bit set.
  const size_t entries = size_t{1} << (depth_ - depth);
  const size_t first = depth == 0 ? 0 : (hash >> (64 - depth)) * entries;
  for (size_t i = first + entries / 2; i < first + entries; ++i) directory_[i] = new_index;
  Measure(0, kSlotsMax);
}

void IdSet::Measure(size_t slots_before, size_t slots_now) {
  bytes_ += (slots_now - slots_before) * sizeof(uint64_t);
  if (slots_before == 0) bytes_ += sizeof(Bucket) + 2 * sizeof(uint32_t);
}

}  // namespace queen::sidecar
