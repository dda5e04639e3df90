#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace queen {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> MakeValues() {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = kNoDigit;
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}
constexpr std::array<uint8_t, 256> kValues = MakeValues();

}  // namespace

void AppendBase64(std::string& out, std::string_view bytes) {
  const size_t begin = out.size();
  out.resize(begin + (bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data() + begin;
  uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(byte);
    for (held += 8; held >= 6; held -= 6) *to++ = kDigits[bits >> (held - 6) & 63];
  }
  if (held > 0) *to = kDigits[bits << (6 - held) & 63];
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int held = 0;
  for (const char digit : text) {
    const uint8_t value = kValues[static_cast<uint8_t>(digit)];
    if (value == kNoDigit) return std::nullopt;
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
  }
  // What is left over belongs to no byte: 0, 4 or 2 bits, as many as the padding says, all zero.
  if (held != static_cast<int>(padding) * 2 || (bits & ((1U << held) - 1)) != 0) {
    return std::nullopt;
  }
  return bytes;
}

void AppendBase64Url(std::string& out, std::string_view bytes) {
  const size_t begin = out.size();
  AppendBase64(out, bytes);
  while (out.size() > begin && out.back() == '=') out.pop_back();
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '+', '-');
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '/', '_');
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  if (text.find_first_of("+/=") != text.npos) return std::nullopt;
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '-', '+');
  std::replace(plain.begin(), plain.end(), '_', '/');
  plain.resize((plain.size() + 3) / 4 * 4, '=');
  return DecodeBase64(plain);
}

}  // namespace queen
