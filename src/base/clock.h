// The two clocks. Intervals and deadlines use the steady one; the wall clock is for what people
// and PostgreSQL read, and may step.
#pragma once

#include <cstdint>
#include <string>

namespace queen {

// Milliseconds and microseconds of a clock that never goes back; its zero has no meaning.
int64_t SteadyMillis();
int64_t SteadyMicros();

// Microseconds since 1970 UTC.
int64_t WallMicros();

// "2026-01-31T23:59:59.123456Z" (`fraction_digits` 0..6).
std::string FormatTimestamp(int64_t wall_micros, int fraction_digits = 6);

}  // namespace queen
