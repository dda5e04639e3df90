#include "config/pair_list.h"

#include <algorithm>
#include <charconv>

#include "base/comma_list.h"

namespace queen::config {
namespace {

std::string_view WithoutSpace(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  if (std::any_of(decoded.begin(), decoded.end(), is_control)) return std::nullopt;
  return decoded;
}

}  // namespace

std::optional<PairList> ParsePairList(std::string_view text) {
  PairList pairs;
  for (const std::string& entry : SplitCommaList(text)) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const std::string_view view = entry;
    const auto key = Decode(WithoutSpace(view.substr(0, equals)));
    const auto value = Decode(WithoutSpace(view.substr(equals + 1)));
    if (!key || key->empty() || !value) return std::nullopt;
    pairs.emplace_back(*key, *value);
  }
  return pairs;
}

}  // namespace queen::config
