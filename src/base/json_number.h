// From the text of a JSON number to int64 and double. Payload numbers are never converted (their
// text is kept); this is for the few numbers that mean something to the broker.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace queen {

// The value if it is a whole number that fits: "7", "-0", also "7.0" and "7e2", which languages
// with one number type write. nullopt for fractions and overflow. REQUIRES: valid JSON number
std::optional<int64_t> JsonNumberToInt64(std::string_view number);

// The nearest double; nullopt if the number is too large for one. Too small ones are 0.
// REQUIRES: valid JSON number
std::optional<double> JsonNumberToDouble(std::string_view number);

}  // namespace queen
