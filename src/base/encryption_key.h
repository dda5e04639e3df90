// EncryptionKey: the 256 bits that payloads are encrypted with (storage/payload_cipher.h), and how
// people write them: 64 hexadecimal digits, or base64 of 32 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace queen {

using EncryptionKey = std::array<uint8_t, 32>;

// The keys of a list separated by commas, spaces around them ignored; none for an empty text.
// nullopt if one of them is no key.
std::optional<std::vector<EncryptionKey>> ParseEncryptionKeys(std::string_view text);

}  // namespace queen
