#include "pg/libpq_message.h"

#include <algorithm>

namespace queen::pg {
namespace {

constexpr size_t kSqlstateLength = 5;

bool IsSqlstate(std::string_view text) {
  return text.size() == kSqlstateLength && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
         });
}

}  // namespace

std::string OneLine(std::string_view message) {
  std::string text;
  while (!message.empty()) {
    const size_t end = message.find('\n');
    std::string_view line = message.substr(0, end);
    message.remove_prefix(end == std::string_view::npos ? message.size() : end + 1);
    const bool continues = line.starts_with('\t');
    if (continues) line.remove_prefix(1);
    if (line.empty() || line.starts_with("LOCATION:")) continue;
    if (!text.empty()) text += continues ? " " : "; ";
    text += line;
  }
  return text;
}

std::string_view SqlstateIn(std::string_view message) {
  constexpr std::string_view kBefore = ":  ";
  while (true) {
    const size_t at = message.rfind(kBefore);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = message.substr(at + kBefore.size());
    const std::string_view candidate = rest.substr(0, kSqlstateLength);
    if (IsSqlstate(candidate) && rest.substr(kSqlstateLength).starts_with(": ")) return candidate;
    message = message.substr(0, at);
  }
}

}  // namespace queen::pg
