// Uuid: 16 bytes in the order they are printed; the text form is parsed strictly (36 characters,
// either case) and printed in lower case.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace queen {

struct Uuid {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;

  static std::optional<Uuid> Parse(std::string_view text);
  // Only what ToString gives back: for text that must not be taken for another.
  static std::optional<Uuid> ParseCanonical(std::string_view text);
  std::string ToString() const;
  // Writes exactly 36 characters at `out`.
  void Format(char* out) const;

  // The two halves as big-endian numbers, for packing.
  uint64_t high() const;
  uint64_t low() const;
  static Uuid FromHalves(uint64_t high, uint64_t low);

  // 1..15; a UUIDv7 carries its milliseconds since 1970 in front.
  int version() const { return bytes[6] >> 4; }
  int64_t v7_millis() const { return static_cast<int64_t>(high() >> 16); }
};

struct UuidHash {
  size_t operator()(const Uuid& uuid) const {
    return static_cast<size_t>(uuid.high() * 0x9E3779B97F4A7C15U ^ uuid.low());
  }
};

// A random UUIDv7 whose milliseconds are `wall_millis`.
Uuid MakeUuidV7(int64_t wall_millis);
// The same, now. Ids made by one thread rise strictly.
Uuid MakeUuidV7();

}  // namespace queen
