// Base64 (RFC 4648, section 4), with padding, without line breaks; and its form for URLs (section
// 5), without padding, as tokens use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace queen {

// Appends the text for `bytes`.
void AppendBase64(std::string& out, std::string_view bytes);

// The bytes, or nullopt for anything but the one text that AppendBase64 writes for them.
std::optional<std::string> DecodeBase64(std::string_view text);

void AppendBase64Url(std::string& out, std::string_view bytes);
// As DecodeBase64, for the text that AppendBase64Url writes.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace queen
