// Bitmap: which of the offsets from some place on are marked. Bits past the end are 0, and a bitmap
// never ends in a 0, so that two with the same marks are equal. Most are empty and take no memory
// of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace queen::engine {

class Bitmap {
 public:
  Bitmap() = default;
  // From '0' and '1', the first offset first; any other character counts as '0'.
  explicit Bitmap(std::string_view text);

  bool empty() const { return words_.empty(); }
  bool Get(int64_t place) const;
  void Set(int64_t place) { SetRange(place, place + 1); }
  // Marks [from, to). REQUIRES: 0 <= from
  void SetRange(int64_t from, int64_t to);
  void Clear(int64_t place);

  // Marks in [from, to).
  int64_t Count(int64_t from, int64_t to) const;
  // How many marks stand at the front without a gap.
  int64_t Leading() const;
  // The place just behind the n-th 0 (n >= 1), counting the endless zeros past the end.
  int64_t BehindZero(int64_t n) const;

  // As seen from `skip` places further on. REQUIRES: 0 <= skip
  Bitmap From(int64_t skip) const;
  // As seen from `places` before the front, which are not marked. REQUIRES: 0 <= places
  Bitmap Shifted(int64_t places) const;
  // Without what is marked at `length` and behind.
  Bitmap Cut(int64_t length) const;

  Bitmap& operator|=(const Bitmap& other);
  // Takes out what is marked in `other`.
  Bitmap& operator-=(const Bitmap& other);
  bool operator==(const Bitmap&) const = default;

  // The opposite of the constructor; "" when nothing is marked.
  std::string ToText() const;

  // Bytes on the heap.
  size_t bytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  void Trim();

  std::vector<uint64_t> words_;  // the lowest bit of the first is the front
};

}  // namespace queen::engine
