#include "sidecar/dedup_memory.h"

#include <algorithm>

namespace queen::sidecar {

bool DedupMemory::Segment::MayHold(const Uuid& id) const {
  return min <= id && id <= max && std::binary_search(ids.begin(), ids.end(), id.low());
}

// Ids are compared as numbers: texts that differ only in case are one here, which is only doubt.
bool DedupMemory::IsNew(std::string_view txn) const {
  const auto id = Uuid::Parse(txn);
  if (!id) return false;
  if (*id > max_) return true;
  return *id > older_max_ && std::none_of(newest_.begin(), newest_.end(),
                                          [&](const Segment& s) { return s.MayHold(*id); });
}

void DedupMemory::Append(int64_t base_seq, int64_t count,
                         const std::vector<std::string_view>& txns) {
  if (base_seq != to_ || from_ == to_) {
    Clear();
    from_ = base_seq;
  }
  to_ = base_seq + count;
  Segment segment;
  segment.ids.reserve(txns.size());
  for (const std::string_view txn : txns) {
    const auto id = Uuid::Parse(txn);
    if (!id) continue;
    segment.min = segment.ids.empty() ? *id : std::min(segment.min, *id);
    segment.max = std::max(segment.max, *id);
    segment.ids.push_back(id->low());
  }
  if (segment.ids.empty()) return;
  std::sort(segment.ids.begin(), segment.ids.end());
  max_ = std::max(max_, segment.max);
  newest_.push_back(std::move(segment));
  ForgetOld();
}

void DedupMemory::ForgetIds() {
  older_max_ = max_;
  newest_.clear();
  newest_.shrink_to_fit();
}

void DedupMemory::ForgetOld() {
  const int64_t oldest_ms = newest_.back().max.v7_millis() - kAgeMaxMs;
  auto kept = newest_.begin();
  while (static_cast<size_t>(newest_.end() - kept) > kSegmentsMax ||
         kept->max.v7_millis() < oldest_ms) {
    older_max_ = std::max(older_max_, kept->max);
    ++kept;
  }
  newest_.erase(newest_.begin(), kept);
  if (newest_.capacity() > 4 * newest_.size()) newest_.shrink_to_fit();
}

}  // namespace queen::sidecar
