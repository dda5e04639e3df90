#include "base/clock.h"

#include <gtest/gtest.h>

namespace queen {
namespace {

TEST(Clock, FormatsMicroseconds) {
  EXPECT_EQ(FormatTimestamp(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(FormatTimestamp(1769903999123456), "2026-01-31T23:59:59.123456Z");
  EXPECT_EQ(FormatTimestamp(1769903999123456, 3), "2026-01-31T23:59:59.123Z");
  EXPECT_EQ(FormatTimestamp(1769903999123456, 0), "2026-01-31T23:59:59Z");
  EXPECT_EQ(FormatTimestamp(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTimestamp(-62'135'596'800'000'000, 0), "0001-01-01T00:00:00Z");
  EXPECT_EQ(FormatTimestamp(-59'011'459'200'000'000, 0), "0100-01-01T00:00:00Z");
}

TEST(Clock, SteadyDoesNotGoBack) {
  const int64_t before = SteadyMicros();
  EXPECT_GE(SteadyMicros(), before);
}

}  // namespace
}  // namespace queen
