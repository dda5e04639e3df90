#include "base/uuid.h"

#include "base/clock.h"
#include "base/random.h"

namespace queen {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr uint64_t kVersion7 = 0x7000;
constexpr uint64_t kVariant = 0x8000'0000'0000'0000;

// -1 for what is no hex digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsDashPosition(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

std::optional<Uuid> Uuid::Parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  size_t byte = 0;
  for (size_t i = 0; i < text.size();) {
    if (IsDashPosition(i)) {
      if (text[i] != '-') return std::nullopt;
      ++i;
      continue;
    }
    const int high = HexValue(text[i]);
    const int low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    uuid.bytes[byte++] = static_cast<uint8_t>(high * 16 + low);
    i += 2;
  }
  return uuid;
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
