// The characters HTTP allows in names and values (RFC 9110, 5.5 and 5.6.2).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace queen::http {

inline constexpr std::array<bool, 256> kTokenCharacters = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

constexpr bool IsTokenCharacter(char c) { return kTokenCharacters[static_cast<unsigned char>(c)]; }

constexpr bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

// What may stand in the value of a field: no control characters but the tab.
constexpr bool IsValueCharacter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

}  // namespace queen::http
