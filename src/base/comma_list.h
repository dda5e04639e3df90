// "a, b" -> {"a", "b"}: how settings name several things.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace queen {

// The texts between the commas without the spaces around them; empty ones are left out.
inline std::vector<std::string> SplitCommaList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

}  // namespace queen
