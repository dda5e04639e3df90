// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace queen::bench {

// "1,234,567"
std::string WithCommas(uint64_t number);
// The nearest whole number, with commas.
std::string Round(double number);
// `micros` in milliseconds, as Short.
std::string Millis(int64_t micros);
// "0.123", "4.56", "78.9", "1,235": three significant digits.
std::string Short(double number);

}  // namespace queen::bench
