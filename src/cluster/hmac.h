// HMAC-SHA256 of packets between brokers.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace queen::cluster {

constexpr size_t kMacBytes = 32;
using Mac = std::array<char, kMacBytes>;

Mac ComputeMac(std::string_view key, std::string_view data);

// In the same time whether they differ early or late.
bool SameMac(const Mac& mac, std::string_view other);

}  // namespace queen::cluster
