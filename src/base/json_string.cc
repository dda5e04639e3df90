#include "base/json_string.h"

#include <cassert>
#include <cstdint>
#include <cstring>

namespace queen {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

bool IsHighSurrogate(uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLowSurrogate(uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

uint32_t HexDigit(char c) {
  if (c <= '9') return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>((c | 0x20) - 'a' + 10);
}

// The UTF-16 unit of the escape "\uXXXX" at `p`.
uint32_t UnitAt(const char* p) {
  uint32_t unit = 0;
  for (int i = 2; i < 6; ++i) unit = unit << 4 | HexDigit(p[i]);
  return unit;
}

bool IsUnicodeEscape(const char* p, const char* end) {
  return end - p >= 6 && p[0] == '\\' && p[1] == 'u';
}

char* PutUtf8(char* out, uint32_t point) {
  const auto put = [&out](uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
  return out;
}

char SimpleEscape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // quote, backslash, slash
  }
}

// Moves `p` behind the "\uXXXX", or the pair of them, that it is at.
uint32_t TakeCodePoint(const char*& p, const char* end, JsonText& decoded) {
  const uint32_t unit = UnitAt(p);
  p += 6;
  if (unit == 0) decoded.has_nul = true;
  if (!IsHighSurrogate(unit) && !IsLowSurrogate(unit)) return unit;
  if (IsHighSurrogate(unit) && IsUnicodeEscape(p, end)) {
    if (const uint32_t low = UnitAt(p); IsLowSurrogate(low)) {
      p += 6;
      return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
  }
  decoded.has_lone_surrogate = true;
  return kReplacement;
}

}  // namespace

JsonText DecodeJsonString(std::string_view contents, JsonScratch& scratch) {
  JsonText decoded;
  if (contents.empty()) return decoded;
  // No escape decodes to more bytes than it is written with.
  char* const begin = scratch.Take(contents.size());
  char* out = begin;
  const char* p = contents.data();
  const char* const end = p + contents.size();
  while (p != end) {
    const auto* escape =
        static_cast<const char*>(std::memchr(p, '\\', static_cast<size_t>(end - p)));
    const size_t plain = static_cast<size_t>((escape == nullptr ? end : escape) - p);
    std::memcpy(out, p, plain);
    out += plain;
    p += plain;
    if (p == end) break;
    assert(end - p >= 2);
    if (p[1] == 'u') {
      assert(end - p >= 6);
      out = PutUtf8(out, TakeCodePoint(p, end, decoded));
    } else {
      *out++ = SimpleEscape(p[1]);
      p += 2;
    }
  }
  decoded.text = {begin, static_cast<size_t>(out - begin)};
  scratch.Return(contents.size() - decoded.text.size());
  return decoded;
}

}  // namespace queen
