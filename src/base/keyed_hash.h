// KeyedHash: SipHash-2-4 under a key that this process made for itself. Nobody outside can choose
// texts that collide; values mean nothing in another process.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace queen {

using SipKey = std::array<uint64_t, 2>;

uint64_t SipHash24(const SipKey& key, std::string_view text);

uint64_t KeyedHash(std::string_view text);

}  // namespace queen
