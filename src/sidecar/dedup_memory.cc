#include "sidecar/dedup_memory.h"

#include <functional>

namespace queen::sidecar {
namespace {

uint64_t HashOf(std::string_view txn) { return std::hash<std::string_view>{}(txn); }

}  // namespace

bool DedupMemory::IsNew(std::string_view txn) const {
  return txn > older_max_ && !counts_.contains(HashOf(txn));
}

void DedupMemory::Append(int64_t base_seq, int64_t count,
                         const std::vector<std::string_view>& txns) {
  if (base_seq != to_ || from_ == to_) {
    Clear();
    from_ = base_seq;
  }
  to_ = base_seq + count;
  Newest segment;
  segment.hashes.reserve(txns.size());
  for (const std::string_view txn : txns) {
    const uint64_t hash = HashOf(txn);
    segment.hashes.push_back(hash);
    ++counts_[hash];
    if (txn > segment.max) segment.max = txn;
  }
  newest_.push_back(std::move(segment));
  if (newest_.size() > kSegmentsMax) ForgetOldest();
}

void DedupMemory::ForgetOldest() {
  Newest& oldest = newest_.front();
  for (const uint64_t hash : oldest.hashes) {
    const auto counted = counts_.find(hash);
    if (--counted->second == 0) counts_.erase(counted);
  }
  if (oldest.max > older_max_) older_max_ = std::move(oldest.max);
  newest_.pop_front();
}

}  // namespace queen::sidecar
