#include "base/uuid.h"

#include "base/clock.h"
#include "base/random.h"

namespace queen {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr uint64_t kVersion7 = 0x7000;
constexpr uint64_t kVariant = 0x8000'0000'0000'0000;

constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> DigitTable(bool upper_case) {
  std::array<uint8_t, 256> table{};
  table.fill(kNoDigit);
  for (uint8_t digit = 0; digit < 16; ++digit) {
    const auto lower = static_cast<uint8_t>(kHex[digit]);
    table[lower] = digit;
    if (upper_case && digit > 9) table[lower - 'a' + 'A'] = digit;
  }
  return table;
}
constexpr std::array<uint8_t, 256> kDigits = DigitTable(true);
constexpr std::array<uint8_t, 256> kLowerDigits = DigitTable(false);

bool IsDashPosition(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

std::optional<Uuid> ParseWith(const std::array<uint8_t, 256>& digits, std::string_view text) {
  constexpr std::array<uint8_t, 16> kPlaces{0,  2,  4,  6,  9,  11, 14, 16,
                                            19, 21, 24, 26, 28, 30, 32, 34};
  if (text.size() != 36) return std::nullopt;
  if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
  Uuid uuid;
  uint8_t seen = 0;  // of all digits; the high bits only where one is none
  for (size_t i = 0; i < uuid.bytes.size(); ++i) {
    const uint8_t high = digits[static_cast<uint8_t>(text[kPlaces[i]])];
    const uint8_t low = digits[static_cast<uint8_t>(text[kPlaces[i] + 1U])];
    seen |= static_cast<uint8_t>(high | low);
    uuid.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (seen > 15) return std::nullopt;
  return uuid;
}

}  // namespace

std::optional<Uuid> Uuid::Parse(std::string_view text) { return ParseWith(kDigits, text); }

std::optional<Uuid> Uuid::ParseCanonical(std::string_view text) {
  return ParseWith(kLowerDigits, text);
}

void Uuid::Format(char* out) const {
  size_t position = 0;
  for (const uint8_t byte : bytes) {
    if (IsDashPosition(position)) out[position++] = '-';
    out[position++] = kHex[byte >> 4];
    out[position++] = kHex[byte & 15];
  }
}

std::string Uuid::ToString() const {
  std::string text(36, '\0');
  Format(text.data());
  return text;
}

uint64_t Uuid::high() const {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}

uint64_t Uuid::low() const {
  uint64_t value = 0;
  for (size_t i = 8; i < 16; ++i) value = value << 8 | bytes[i];
  return value;
}

Uuid Uuid::FromHalves(uint64_t high, uint64_t low) {
  Uuid uuid;
  for (size_t i = 0; i < 8; ++i) {
    uuid.bytes[7 - i] = static_cast<uint8_t>(high >> (8 * i));
    uuid.bytes[15 - i] = static_cast<uint8_t>(low >> (8 * i));
  }
  return uuid;
}

Uuid MakeUuidV7(int64_t wall_millis) {
  auto& random = ThreadRandom();
  const uint64_t high = static_cast<uint64_t>(wall_millis) << 16 | kVersion7 | (random() & 0xFFF);
  return Uuid::FromHalves(high, kVariant | random() >> 2);
}

Uuid MakeUuidV7() {
  // The 12 bits after the version count within a millisecond; a full counter borrows the next one.
  thread_local uint64_t last = 0;
  uint64_t stamp = static_cast<uint64_t>(WallMicros() / 1000) << 12;
  if (stamp <= last) stamp = last + 1;
  last = stamp;
  const uint64_t high = stamp >> 12 << 16 | kVersion7 | (stamp & 0xFFF);
  return Uuid::FromHalves(high, kVariant | ThreadRandom()() >> 2);
}

}  // namespace queen
