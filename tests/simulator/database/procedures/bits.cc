#include "simulator/database/procedures/bits.h"

#include <algorithm>

namespace queen::simulator {

Bits BitsFrom(const Bits& bits, int64_t skip) {
  if (!bits || skip >= static_cast<int64_t>(bits->size())) return std::nullopt;
  return bits->substr(static_cast<size_t>(skip));
}

int64_t BitsLeading(const Bits& bits) {
  if (!bits) return 0;
  return static_cast<int64_t>(std::min(bits->find('0'), bits->size()));
}

bool BitsGet(const Bits& bits, int64_t place) {
  return bits && place >= 0 && place < static_cast<int64_t>(bits->size()) &&
         (*bits)[static_cast<size_t>(place)] == '1';
}

std::string BitsResize(const Bits& bits, int64_t length) {
  std::string resized = bits.value_or("");
  resized.resize(static_cast<size_t>(std::max<int64_t>(length, 0)), '0');
  return resized;
}

Bits BitsOr(const Bits& a, const Bits& b) {
  if (!a) return b;
  if (!b) return a;
  const size_t length = std::max(a->size(), b->size());
  std::string both(length, '0');
  for (size_t i = 0; i < length; ++i) {
    const auto place = static_cast<int64_t>(i);
    if (BitsGet(a, place) || BitsGet(b, place)) both[i] = '1';
  }
  return both;
}

Bits BitsOf(const std::vector<int64_t>& places) {
  if (places.empty()) return std::nullopt;
  std::string bits(static_cast<size_t>(*std::max_element(places.begin(), places.end()) + 1), '0');
  for (const int64_t place : places) bits[static_cast<size_t>(place)] = '1';
  return bits;
}

int64_t BitsBehindZero(const Bits& bits, int64_t n) {
  if (!bits) return n;
  int64_t zeros = 0;
  for (size_t i = 0; i < bits->size(); ++i) {
    if ((*bits)[i] == '0' && ++zeros == n) return static_cast<int64_t>(i) + 1;
  }
  return n + BitsCount(bits);
}

int64_t BitsCount(const Bits& bits) {
  return bits ? std::count(bits->begin(), bits->end(), '1') : 0;
}

}  // namespace queen::simulator
