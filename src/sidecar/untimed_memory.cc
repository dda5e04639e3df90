#include "sidecar/untimed_memory.h"

#include <algorithm>
#include <cassert>

namespace queen::sidecar {

bool UntimedMemory::IsNew(uint64_t hash) const {
  return std::none_of(parts_.begin(), parts_.end(),
                      [&](const Part& part) { return part.ids.Contains(hash); });
}

void UntimedMemory::Append(int64_t base_seq, int64_t count, std::span<const uint64_t> hashes) {
  if (empty() || base_seq < to_ || base_seq - to_ > kGapMax) {
    Clear();
    from_ = to_ = base_seq;
  }
  end_ = std::max(end_, base_seq + count);
  if (base_seq == to_) Extend(base_seq + count, hashes);
}

void UntimedMemory::Extend(int64_t to, std::span<const uint64_t> hashes) {
  assert(to >= to_);
  if (parts_.empty() || parts_.back().ids.size() >= kIdsPerPart) parts_.push_back({to_, {}});
  Insert(parts_.back().ids, hashes);
  to_ = to;
  end_ = std::max(end_, to);
}

void UntimedMemory::ExtendBack(int64_t from, std::span<const uint64_t> hashes) {
  assert(from <= from_ && !empty());
  if (parts_.front().ids.size() >= kIdsPerPart) parts_.push_front({from, {}});
  Insert(parts_.front().ids, hashes);
  parts_.front().from = from_ = from;
}

void UntimedMemory::Insert(IdSet& ids, std::span<const uint64_t> hashes) {
  const size_t before = ids.bytes();
  for (const uint64_t hash : hashes) ids.Insert(hash);
  room_.bytes += ids.bytes() - before;
}

void UntimedMemory::DropOldest() {
  if (parts_.size() <= 1) return Clear();
  room_.bytes -= parts_.front().ids.bytes();
  parts_.pop_front();
  from_ = parts_.front().from;
}

void UntimedMemory::Clear() {
  for (const Part& part : parts_) room_.bytes -= part.ids.bytes();
  parts_.clear();
  from_ = to_ = end_ = 0;
}

}  // namespace queen::sidecar
