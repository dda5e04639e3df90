#include "api/timestamp.h"

#include <chrono>

namespace queen::api {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

// Takes what it recognises from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }

  bool Take(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_.front()) == any_of.npos) return false;
    text_.remove_prefix(1);
    return true;
  }

  // Exactly `digits` of them.
  bool Number(int digits, int& value) {
    value = 0;
    for (int i = 0; i < digits; ++i) {
      int digit = 0;
      if (!Digit(digit)) return false;
      value = value * 10 + digit;
    }
    return true;
  }

  // The digits behind a decimal point, at least one, as microseconds.
  bool Fraction(int64_t& micros) {
    int digit = 0;
    if (!Digit(digit)) return false;
    bool round_up = false;
    micros = 0;
    int64_t unit = kMicrosPerSecond;
    do {
      unit /= 10;
      micros += digit * unit;
      if (unit == 0 && digit != 0) round_up = true;
    } while (Digit(digit));
    if (round_up) ++micros;
    return true;
  }

 private:
  bool Digit(int& value) {
    if (text_.empty() || text_.front() < '0' || text_.front() > '9') return false;
    value = text_.front() - '0';
    text_.remove_prefix(1);
    return true;
  }

  std::string_view text_;
};

// Seconds since 1970 at midnight UTC.
bool TakeDate(Cursor& in, int64_t& seconds) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!in.Number(4, year) || !in.Take("-") || !in.Number(2, month) || !in.Take("-") ||
      !in.Number(2, day)) {
    return false;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  seconds = std::chrono::seconds(std::chrono::sys_days(date).time_since_epoch()).count();
  return true;
}

// A leap second counts as the first second of the next minute.
bool TakeTime(Cursor& in, int64_t& seconds, int64_t& micros) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!in.Number(2, hour) || !in.Take(":") || !in.Number(2, minute) || !in.Take(":") ||
      !in.Number(2, second) || hour > 23 || minute > 59 || second > 60) {
    return false;
  }
  seconds = hour * 3600 + minute * 60 + second;
  micros = 0;
  return !in.Take(".") || in.Fraction(micros);
}

// Seconds to take away to get to UTC.
bool TakeOffset(Cursor& in, int64_t& seconds) {
  seconds = 0;
  if (in.Take("Zz")) return true;
  const bool west = in.Take("-");
  if (!west && !in.Take("+ ")) return false;
  int hours = 0;
  int minutes = 0;
  if (!in.Number(2, hours) || !in.Take(":") || !in.Number(2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  seconds = hours * 3600 + minutes * 60;
  if (west) seconds = -seconds;
  return true;
}

}  // namespace

std::optional<int64_t> ParseTimestamp(std::string_view text) {
  Cursor in(text);
  int64_t day = 0;
  if (!TakeDate(in, day)) return std::nullopt;
  if (in.empty()) return day * kMicrosPerSecond;
  int64_t time = 0;
  int64_t micros = 0;
  int64_t offset = 0;
  if (!in.Take("Tt ") || !TakeTime(in, time, micros) || !TakeOffset(in, offset) || !in.empty()) {
    return std::nullopt;
  }
  return (day + time - offset) * kMicrosPerSecond + micros;
}

}  // namespace queen::api
