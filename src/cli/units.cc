#include "cli/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>

namespace queen::cli {

std::string ShowCount(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string ShowCount(int64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", ShowCount(count), count == 1 ? one : more);
}

std::string ShowBytes(int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", amount, amount < 100 ? 1 : 0, kUnits[unit]);
}

std::string ShowSeconds(double seconds) {
  if (seconds < 0) return "-" + ShowSeconds(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {} m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

std::string ShowRate(double per_second) {
  if (per_second <= 0) return "0";
  if (per_second < 10) return fmt::format("{:.1f}/s", per_second);
  return ShowCount(std::llround(per_second)) + "/s";
}

std::string ShowTime(std::string_view iso) {
  if (iso.size() < 19 || iso[10] != 'T') return std::string(iso);
  return fmt::format("{} {}", iso.substr(0, 10), iso.substr(11, 8));
}

double SecondsOf(std::string_view iso) {
  std::tm time{};
  const std::string text(iso);
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return -1;
  double fraction = 0;
  if (*rest == '.') {
    double place = 0.1;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, place /= 10) {
      fraction += place * (*rest - '0');
    }
  }
  return static_cast<double>(timegm(&time)) + fraction;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters, too: two bytes in UTF-8.
    const bool is_c1 =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (is_c1) ++i;
    out += byte < 0x20 || byte == 0x7F || is_c1 ? '?' : text[i];
  }
  return out;
}

std::string ShellWord(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

size_t WidthOf(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return width;
}

std::string CutTo(std::string_view text, size_t columns) {
  if (WidthOf(text) <= columns) return std::string(text);
  size_t width = 0;
  size_t at = 0;
  while (at < text.size()) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && ++width >= columns) break;
    ++at;
  }
  return std::string(text.substr(0, at)) + "…";
}

}  // namespace queen::cli
