// Bitmaps over offsets as queen.bits_* know them: texts of '0' and '1', which keep their length.
// nullopt is the empty bitmap; bits past the end are 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace queen::simulator {

using Bits = std::optional<std::string>;

Bits BitsFrom(const Bits& bits, int64_t skip);
int64_t BitsLeading(const Bits& bits);
bool BitsGet(const Bits& bits, int64_t place);
std::string BitsResize(const Bits& bits, int64_t length);
Bits BitsOr(const Bits& a, const Bits& b);
// nullopt for no places.
Bits BitsOf(const std::vector<int64_t>& places);
int64_t BitsBehindZero(const Bits& bits, int64_t n);
int64_t BitsCount(const Bits& bits);

}  // namespace queen::simulator
