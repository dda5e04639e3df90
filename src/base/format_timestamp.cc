// Times as people read them.
#include <cassert>
#include <ctime>

#include "base/clock.h"

namespace queen {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

}  // namespace

std::string FormatTimestamp(int64_t wall_micros, int fraction_digits) {
  assert(fraction_digits >= 0 && fraction_digits <= 6);
  int64_t seconds = wall_micros / kMicrosPerSecond;
  int64_t micros = wall_micros % kMicrosPerSecond;
  if (micros < 0) {
    micros += kMicrosPerSecond;
    --seconds;
  }
  const auto time = static_cast<time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[40];
  size_t length = 0;
  // A year has four digits at least; strftime writes those of the first centuries with fewer.
  for (int year = parts.tm_year + 1900; year < 1000 && length < 3; year *= 10) text[length++] = '0';
  length += std::strftime(text + length, sizeof text - length, "%Y-%m-%dT%H:%M:%S", &parts);
  if (fraction_digits > 0) {
    text[length++] = '.';
    int64_t unit = kMicrosPerSecond / 10;
    for (int digit = 0; digit < fraction_digits; ++digit, unit /= 10) {
      text[length++] = static_cast<char>('0' + micros / unit % 10);
    }
  }
  text[length++] = 'Z';
  return {text, length};
}

}  // namespace queen
