// Percent-encoding, as it stands in paths and query strings.
#pragma once

#include <string>
#include <string_view>

namespace queen::http {

// The value of a hexadecimal digit, -1 for any other character.
int HexDigitValue(char c);

enum class Plus { kIsPlus, kIsSpace };

// Appends `text` with every %XX replaced by its byte, and '+' by a space where `plus` says so.
// Returns false at a '%' that is not followed by two hexadecimal digits.
[[nodiscard]] bool AppendPercentDecoded(std::string_view text, Plus plus, std::string& out);

}  // namespace queen::http
