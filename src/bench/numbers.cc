#include "bench/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace queen::bench {

std::string WithCommas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string Round(double number) {
  return number <= 0 ? "0" : WithCommas(static_cast<uint64_t>(std::llround(number)));
}

std::string Millis(int64_t micros) { return Short(static_cast<double>(micros) / 1e3); }

std::string Short(double number) {
  if (number < 0.9995) return fmt::format("{:.3f}", number);
  if (number < 9.995) return fmt::format("{:.2f}", number);
  if (number < 99.95) return fmt::format("{:.1f}", number);
  return Round(number);
}

}  // namespace queen::bench
