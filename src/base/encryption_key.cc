#include "base/encryption_key.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/base64.h"

namespace queen {
namespace {

std::string_view WithoutSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<EncryptionKey> ParseHex(std::string_view text) {
  EncryptionKey key;
  for (size_t i = 0; i < key.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, key[i], 16).ptr != begin + 2) return std::nullopt;
  }
  return key;
}

std::optional<EncryptionKey> ParseKey(std::string_view text) {
  EncryptionKey key;
  if (text.size() == 2 * key.size()) return ParseHex(text);
  const std::optional<std::string> bytes = DecodeBase64(text);
  if (!bytes || bytes->size() != key.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return key;
}

}  // namespace

std::optional<std::vector<EncryptionKey>> ParseEncryptionKeys(std::string_view text) {
  std::vector<EncryptionKey> keys;
  if (WithoutSpaces(text).empty()) return keys;
  while (true) {
    const size_t comma = text.find(',');
    const std::optional<EncryptionKey> key = ParseKey(WithoutSpaces(text.substr(0, comma)));
    if (!key) return std::nullopt;
    keys.push_back(*key);
    if (comma == text.npos) return keys;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace queen
