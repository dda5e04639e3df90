// CRC-32C (Castagnoli), the checksum of everything in a buffer file. It finds every error of up to
// 32 neighbouring bits, so every single flipped byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace queen::buffer {

// Continues `crc`, which is 0 for the first piece.
uint32_t Crc32c(uint32_t crc, std::string_view bytes);

}  // namespace queen::buffer
