// PostgreSQL's binary formats, the part shared by Params and Rows: big-endian numbers and the
// timestamp epoch. Times are microseconds since 1970 here and since 2000 there; the ends of our
// range stand for PostgreSQL's -infinity and infinity, and what only fits there is cut to them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

namespace queen::pg::binary {

template <std::unsigned_integral T>
T SwapToBigEndian(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// Writes sizeof(T) bytes at `out`.
template <std::unsigned_integral T>
void Store(char* out, T value) {
  const T swapped = SwapToBigEndian(value);
  std::memcpy(out, &swapped, sizeof swapped);
}

// Reads sizeof(T) bytes at `in`.
template <std::unsigned_integral T>
T Load(const char* in) {
  T value = 0;
  std::memcpy(&value, in, sizeof value);
  return SwapToBigEndian(value);
}

inline constexpr int64_t kEpochMicros = 946'684'800'000'000;  // 2000-01-01 in micros since 1970
inline constexpr int64_t kMicrosMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMicrosMax = std::numeric_limits<int64_t>::max();

inline int64_t ToPostgresMicros(int64_t wall_micros) {
  if (wall_micros == kMicrosMax) return kMicrosMax;
  if (wall_micros < kMicrosMin + kEpochMicros) return kMicrosMin;
  return wall_micros - kEpochMicros;
}

inline int64_t FromPostgresMicros(int64_t postgres_micros) {
  if (postgres_micros == kMicrosMin) return kMicrosMin;
  if (postgres_micros > kMicrosMax - kEpochMicros) return kMicrosMax;
  return postgres_micros + kEpochMicros;
}

}  // namespace queen::pg::binary
