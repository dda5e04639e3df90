#include "engine/bitmap.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace queen::engine {
namespace {

constexpr int64_t kWordBits = 64;

// The bits [from, to) of a word. REQUIRES: 0 <= from <= to <= 64
uint64_t Mask(int64_t from, int64_t to) {
  if (from == to) return 0;
  return (~uint64_t{0} >> (kWordBits - (to - from))) << from;
}

}  // namespace

Bitmap::Bitmap(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '1') Set(static_cast<int64_t>(i));
  }
}

bool Bitmap::Get(int64_t place) const {
  const auto word = static_cast<size_t>(place / kWordBits);
  return place >= 0 && word < words_.size() && (words_[word] >> (place % kWordBits) & 1) != 0;
}

void Bitmap::SetRange(int64_t from, int64_t to) {
  if (from >= to) return;
  words_.resize(std::max(words_.size(), static_cast<size_t>((to + kWordBits - 1) / kWordBits)));
  for (int64_t word = from / kWordBits; word * kWordBits < to; ++word) {
    const int64_t start = word * kWordBits;
    words_[static_cast<size_t>(word)] |=
        Mask(std::max(from - start, int64_t{0}), std::min(to - start, kWordBits));
  }
}

void Bitmap::Clear(int64_t place) {
  if (!Get(place)) return;
  words_[static_cast<size_t>(place / kWordBits)] &= ~(uint64_t{1} << (place % kWordBits));
  Trim();
}

int64_t Bitmap::Count(int64_t from, int64_t to) const {
  const auto size = static_cast<int64_t>(words_.size()) * kWordBits;
  from = std::max(from, int64_t{0});
  to = std::min(to, size);
  int64_t count = 0;
  for (int64_t word = from / kWordBits; word * kWordBits < to; ++word) {
    const int64_t start = word * kWordBits;
    count +=
        std::popcount(words_[static_cast<size_t>(word)] &
                      Mask(std::max(from - start, int64_t{0}), std::min(to - start, kWordBits)));
  }
  return count;
}

int64_t Bitmap::Leading() const {
  int64_t count = 0;
  for (const uint64_t word : words_) {
    if (word != ~uint64_t{0}) return count + std::countr_one(word);
    count += kWordBits;
  }
  return count;
}

int64_t Bitmap::BehindZero(int64_t n) const {
  int64_t place = 0;
  for (uint64_t word : words_) {
    const int64_t zeros = kWordBits - std::popcount(word);
    if (zeros >= n) {
      while (true) {
        const int64_t ones = std::countr_one(word);
        place += ones + 1;
        if (--n == 0) return place;
        word = ones + 1 < kWordBits ? word >> (ones + 1) : 0;
      }
    }
    n -= zeros;
    place += kWordBits;
  }
  return place + n;
}

Bitmap Bitmap::From(int64_t skip) const {
  Bitmap seen;
  const auto words = static_cast<size_t>(skip / kWordBits);
  if (words >= words_.size()) return seen;
  seen.words_.assign(words_.begin() + static_cast<ptrdiff_t>(words), words_.end());
  if (const int64_t bits = skip % kWordBits; bits > 0) {
    for (size_t i = 0; i < seen.words_.size(); ++i) {
      seen.words_[i] >>= bits;
      if (i + 1 < seen.words_.size()) seen.words_[i] |= seen.words_[i + 1] << (kWordBits - bits);
    }
  }
  seen.Trim();
  return seen;
}

Bitmap Bitmap::Shifted(int64_t places) const {
  Bitmap seen;
  if (empty()) return seen;
  const auto words = static_cast<size_t>(places / kWordBits);
  const int64_t bits = places % kWordBits;
  seen.words_.resize(words + words_.size() + 1);
  for (size_t i = 0; i < words_.size(); ++i) {
    seen.words_[words + i] |= words_[i] << bits;
    if (bits > 0) seen.words_[words + i + 1] |= words_[i] >> (kWordBits - bits);
  }
  seen.Trim();
  return seen;
}

Bitmap Bitmap::Cut(int64_t length) const {
  Bitmap cut;
  if (length <= 0) return cut;
  const auto words =
      std::min(words_.size(), static_cast<size_t>((length + kWordBits - 1) / kWordBits));
  cut.words_.assign(words_.begin(), words_.begin() + static_cast<ptrdiff_t>(words));
  if (const int64_t last = length - (static_cast<int64_t>(words) - 1) * kWordBits;
      last < kWordBits) {
    cut.words_.back() &= Mask(0, last);
  }
  cut.Trim();
  return cut;
}

Bitmap& Bitmap::operator|=(const Bitmap& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

Bitmap& Bitmap::operator-=(const Bitmap& other) {
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    words_[i] &= ~other.words_[i];
  Trim();
  return *this;
}

std::string Bitmap::ToText() const {
  std::string text;
  if (empty()) return text;
  const auto length = static_cast<size_t>(words_.size() * kWordBits -
                                          static_cast<size_t>(std::countl_zero(words_.back())));
  text.resize(length, '0');
  for (size_t i = 0; i < length; ++i) {
    if (Get(static_cast<int64_t>(i))) text[i] = '1';
  }
  return text;
}

void Bitmap::Trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace queen::engine
