#include "config/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace queen::config {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The value after the equals sign; nullopt when a quote is not closed or followed by more text.
std::optional<std::string_view> ParseFileValue(std::string_view text) {
  text = Trim(text);
  if (text.starts_with('"') || text.starts_with('\'')) {
    const size_t end = text.find(text.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = Trim(text.substr(end + 1));
    if (!rest.empty() && !rest.starts_with('#')) return std::nullopt;
    return text.substr(1, end - 1);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || kBlank.find(text[i - 1]) != std::string_view::npos)) {
      return Trim(text.substr(0, i));
    }
  }
  return text;
}

}  // namespace

FileContent ParseFile(std::string_view path, std::string_view text) {
  FileContent content;
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, newline));
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;

    const auto problem = [&](std::string_view what) {
      content.problems.push_back(fmt::format("{}:{}: {}", path, line_number, what));
    };
    const size_t equals = line.find('=');
    const std::string_view name = Trim(line.substr(0, equals));
    if (equals == std::string_view::npos || !IsName(name)) {
      problem("expected NAME = value");
      continue;
    }
    const std::optional<std::string_view> value = ParseFileValue(line.substr(equals + 1));
    if (!value) {
      problem(fmt::format("the quotes around the value of {} do not match", name));
      continue;
    }
    content.entries.push_back({line_number, std::string(name), std::string(*value)});
  }
  return content;
}

Result<std::string> ReadFile(const std::string& path) {
  const auto failed = [&] { return Status(Code::kInvalidRequest, std::strerror(errno)); };
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return failed();
  std::string text;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, size);
  }
  if (std::ferror(file.get()) != 0) return failed();
  return text;
}

}  // namespace queen::config
