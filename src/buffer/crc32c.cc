#include "buffer/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace queen::buffer {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr size_t kSlices = 8;                 // bytes taken at once

using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t slice = 1; slice < kSlices; ++slice) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint32_t At(size_t slice, uint64_t word, unsigned byte) {
  return kTables[slice][(word >> (8 * byte)) & 0xFF];
}

}  // namespace

uint32_t Crc32c(uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= crc;
    crc = At(7, word, 0) ^ At(6, word, 1) ^ At(5, word, 2) ^ At(4, word, 3) ^ At(3, word, 4) ^
          At(2, word, 5) ^ At(1, word, 6) ^ At(0, word, 7);
  }
  for (; left > 0; ++at, --left) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*at)) & 0xFF];
  }
  return ~crc;
}

}  // namespace queen::buffer
