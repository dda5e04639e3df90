#include "base/json_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace queen {
namespace {

// Exponents beyond this are the same to us: everything there overflows or vanishes.
constexpr int64_t kExponentMax = int64_t{1} << 40;

// A number as 0.d1d2d3... * 10^exponent with d1 != 0; no digits means zero.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};

int64_t ParseExponent(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int64_t value = 0;
  for (const char c : text) value = std::min(value * 10 + (c - '0'), kExponentMax);
  return negative ? -value : value;
}

Decimal ParseDecimal(std::string_view number) {
  Decimal decimal;
  decimal.negative = number.starts_with('-');
  if (decimal.negative) number.remove_prefix(1);
  int64_t exponent = 0;
  if (const size_t e = number.find_first_of("eE"); e != std::string_view::npos) {
    exponent = ParseExponent(number.substr(e + 1));
    number = number.substr(0, e);
  }
  const size_t point = std::min(number.find('.'), number.size());
  decimal.digits = number.substr(0, point);
  if (point < number.size()) decimal.digits += number.substr(point + 1);
  const size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  decimal.exponent = exponent + static_cast<int64_t>(point) - static_cast<int64_t>(zeros);
  return decimal;
}

std::optional<int64_t> FromPlainDigits(std::string_view number) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int64_t> JsonNumberToInt64(std::string_view number) {
  if (number.find_first_of(".eE") == std::string_view::npos) return FromPlainDigits(number);
  const Decimal decimal = ParseDecimal(number);
  if (decimal.digits.empty()) return 0;
  const auto digits = static_cast<int64_t>(decimal.digits.size());
  if (decimal.exponent < digits) return std::nullopt;  // a fraction is left
  if (decimal.exponent > std::numeric_limits<int64_t>::digits10 + 1) return std::nullopt;
  std::string plain = decimal.negative ? "-" : "";
  plain += decimal.digits;
  plain.append(static_cast<size_t>(decimal.exponent - digits), '0');
  return FromPlainDigits(plain);
}

std::optional<double> JsonNumberToDouble(std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc()) return value;
  const Decimal decimal = ParseDecimal(number);
  if (decimal.exponent > 0) return std::nullopt;
  return decimal.negative ? -0.0 : 0.0;
}

}  // namespace queen
