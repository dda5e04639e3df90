#include "base/json_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace queen {
namespace {

TEST(JsonNumber, WholeNumbers) {
  const std::vector<std::pair<std::string, int64_t>> cases = {
      {"0", 0},
      {"-0", 0},
      {"7", 7},
      {"-7", -7},
      {"7.0", 7},
      {"7.000e0", 7},
      {"70e-1", 7},
      {"0.7e1", 7},
      {"7e2", 700},
      {"-1.25E+2", -125},
      {"0e999999999999999999999", 0},
      {"0.0", 0},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min()},
      {"9.223372036854775807e18", std::numeric_limits<int64_t>::max()},
      {"1000000000000000000e0", 1000000000000000000},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(JsonNumberToInt64(text), value) << text;
}

TEST(JsonNumber, RefusesFractionsAndOverflow) {
  for (const char* text :
       {"0.5", "1.5", "-1.5", "1e-1", "7.0000000000000000001", "9223372036854775808",
        "-9223372036854775809", "9.3e18", "1e19", "1e400", "1e99999999999999999999999", "15e-400",
        "1e-99999999999999999999999", "18446744073709551616"}) {
    EXPECT_EQ(JsonNumberToInt64(text), std::nullopt) << text;
  }
}

TEST(JsonNumber, Doubles) {
  EXPECT_EQ(JsonNumberToDouble("1.5"), 1.5);
  EXPECT_EQ(JsonNumberToDouble("-2e3"), -2000);
  EXPECT_EQ(JsonNumberToDouble("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(JsonNumberToDouble("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(JsonNumberToDouble("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(*JsonNumberToDouble("-1e-400")));
  EXPECT_EQ(JsonNumberToDouble("1" + std::string(400, '0')), std::nullopt);
  EXPECT_EQ(JsonNumberToDouble("1e400"), std::nullopt);
  EXPECT_EQ(JsonNumberToDouble("-1e99999999999999999999"), std::nullopt);
  EXPECT_EQ(JsonNumberToDouble("0." + std::string(400, '0') + "1e401"), 1.0);
}

}  // namespace
}  // namespace queen
