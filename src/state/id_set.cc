#include "state/id_set.h"

#include <algorithm>

namespace queen::state {

bool IdSet::Insert(int32_t id) {
  uint64_t& word = pages_[PageOf(id)][WordOf(id)];
  if ((word & BitOf(id)) != 0) return false;
  word |= BitOf(id);
  ++size_;
  return true;
}

bool IdSet::Erase(int32_t id) {
  const auto page = pages_.find(PageOf(id));
  if (page == pages_.end()) return false;
  uint64_t& word = page->second[WordOf(id)];
  if ((word & BitOf(id)) == 0) return false;
  word &= ~BitOf(id);
  --size_;
  const Page& words = page->second;
  if (std::all_of(words.begin(), words.end(), [](uint64_t bits) { return bits == 0; })) {
    pages_.erase(page);
  }
  return true;
}

bool IdSet::Contains(int32_t id) const {
  const auto page = pages_.find(PageOf(id));
  return page != pages_.end() && (page->second[WordOf(id)] & BitOf(id)) != 0;
}

void IdSet::Clear() {
  pages_.clear();
  size_ = 0;
}

}  // namespace queen::state
