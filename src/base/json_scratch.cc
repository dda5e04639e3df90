#include "base/json_scratch.h"

#include <algorithm>

namespace queen {
namespace {

constexpr size_t kChunkBytes = 1024;

}  // namespace

char* JsonScratch::Take(size_t size) {
  if (size_ - used_ < size) {
    size_ = std::max(size, kChunkBytes);
    used_ = 0;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size_));
  }
  char* const taken = chunks_.empty() ? nullptr : chunks_.back().get() + used_;
  used_ += size;
  return taken;
}

void JsonScratch::Clear() {
  if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
  used_ = 0;
}

}  // namespace queen
