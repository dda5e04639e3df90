#include "bench/payload.h"

#include <cassert>

#include "base/json_reader.h"
#include "base/random.h"

namespace queen::bench {
namespace {

constexpr std::string_view kBegin = R"({"bench":")";
constexpr std::string_view kMiddle = R"(","pad":")";
constexpr std::string_view kEnd = R"("})";

char* WriteHex(char* out, uint64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out + digits;
}

// Reads `digits` digits at the front of `text` and the dash behind, if there is one.
bool TakeHex(std::string_view& text, size_t digits, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return false;
    }
  }
  text.remove_prefix(digits);
  if (text.empty()) return true;
  if (text.front() != '-') return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Stamp> ParseStamp(std::string_view text) {
  if (text.size() != kStampBytes) return std::nullopt;
  Stamp stamp;
  uint64_t producer = 0;
  uint64_t partition = 0;
  uint64_t seq = 0;
  uint64_t sent = 0;
  if (!TakeHex(text, 16, stamp.run) || !TakeHex(text, 8, producer) ||
      !TakeHex(text, 8, partition) || !TakeHex(text, 8, seq) || !TakeHex(text, 16, sent)) {
    return std::nullopt;
  }
  stamp.producer = static_cast<uint32_t>(producer);
  stamp.partition = static_cast<uint32_t>(partition);
  stamp.seq = static_cast<uint32_t>(seq);
  stamp.sent_us = static_cast<int64_t>(sent);
  return stamp;
}

}  // namespace

void WriteStamp(char* out, const Stamp& stamp) {
  out = WriteHex(out, stamp.run, 16);
  *out++ = '-';
  out = WriteHex(out, stamp.producer, 8);
  *out++ = '-';
  out = WriteHex(out, stamp.partition, 8);
  *out++ = '-';
  out = WriteHex(out, stamp.seq, 8);
  *out++ = '-';
  WriteHex(out, static_cast<uint64_t>(stamp.sent_us), 16);
}

std::string MakePayload(size_t bytes) {
  static_assert(kBegin.size() == kStampOffset);
  static_assert(kBegin.size() + kStampBytes + kMiddle.size() + kEnd.size() == kPayloadBytesMin);
  assert(bytes >= kPayloadBytesMin);
  std::string payload(kBegin);
  payload.append(kStampBytes, '0').append(kMiddle);
  auto& random = ThreadRandom();
  while (payload.size() + kEnd.size() < bytes) {
    payload += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[random() % 64];
  }
  return payload.append(kEnd);
}

std::optional<Stamp> ReadStamp(std::string_view payload) {
  if (payload.starts_with(kBegin)) {
    const std::string_view stamp = payload.substr(kStampOffset, kStampBytes);
    if (const auto read = ParseStamp(stamp)) return read;
  }
  const Result<JsonValue> value = ParseJson(payload);
  if (!value.ok()) return std::nullopt;
  const JsonValue text = value->Find("bench");
  JsonScratch scratch;
  return text.is_string() ? ParseStamp(text.Text(scratch).text) : std::nullopt;
}

}  // namespace queen::bench
