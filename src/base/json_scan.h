// The scanners under the JSON reader: each takes a position in the text and returns the position
// behind the token it recognised, or says where and why the text is not JSON. They look at every
// byte (grammar, escapes, control characters, UTF-8) and never read at or past `end`.
//
// Long runs (string contents, indentation) go 16 bytes at a time with SSE2, which every x86-64
// has, and 8 at a time in a plain integer elsewhere. Private to src/base/json_*.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/utf8.h"

namespace queen::json_scan {

// Where and why a text is not JSON; at == nullptr while nothing is wrong.
struct Fault {
  const char* at = nullptr;
  const char* what = nullptr;
};

// Notes the fault and returns the null position that scanners answer with.
inline const char* Fail(Fault& fault, const char* at, const char* what) {
  fault = {at, what};
  return nullptr;
}

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }
inline bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline bool IsHighByte(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// True for the bytes that end a run of plain string contents: quote, backslash, control, >= 0x80.
inline bool IsStringSpecial(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || IsHighByte(c);
}

inline const char* FindStringSpecialBytes(const char* p, const char* end) {
  while (p != end && !IsStringSpecial(*p)) ++p;
  return p;
}

// A byte of the result has its high bit set where a byte of `word` is special; bytes above the
// first special one may be wrong, which does not matter: only "is there any" is asked.
inline uint64_t StringSpecialBits(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t quote = word ^ (kOnes * '"');
  const uint64_t backslash = word ^ (kOnes * '\\');
  const uint64_t found = (word - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes) | word;
  return found & (kOnes * 0x80);
}

inline const char* FindStringSpecialSwar(const char* p, const char* end) {
  for (; end - p >= 8; p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    if (StringSpecialBits(word) != 0) break;
  }
  return FindStringSpecialBytes(p, end);
}

#if defined(__SSE2__)
inline __m128i LoadBlock(const char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

inline const char* FindStringSpecial(const char* p, const char* end) {
  const __m128i last_control = _mm_set1_epi8(0x1F);
  for (; end - p >= 16; p += 16) {
    const __m128i block = LoadBlock(p);
    const __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
    // movemask reads the high bit of each byte, so or-ing the block itself finds >= 0x80.
    const __m128i special =
        _mm_or_si128(_mm_or_si128(quote, backslash), _mm_or_si128(control, block));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return p + std::countr_zero(mask);
  }
  return FindStringSpecialSwar(p, end);
}

inline const char* SkipSpaceRun(const char* p, const char* end) {
  for (; end - p >= 16; p += 16) {
    const __m128i block = LoadBlock(p);
    const __m128i blank = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')),
                                       _mm_cmpeq_epi8(block, _mm_set1_epi8('\t')));
    const __m128i line = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\n')),
                                      _mm_cmpeq_epi8(block, _mm_set1_epi8('\r')));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(blank, line)));
    if (mask != 0xFFFF) return p + std::countr_one(mask);
  }
  while (p != end && IsSpace(*p)) ++p;
  return p;
}

// The first LF or CR in [p, end), or end.
inline const char* FindLineBreak(const char* p, const char* end) {
  for (; end - p >= 16; p += 16) {
    const __m128i block = LoadBlock(p);
    const __m128i line = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\n')),
                                      _mm_cmpeq_epi8(block, _mm_set1_epi8('\r')));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(line));
    if (mask != 0) return p + std::countr_zero(mask);
  }
  while (p != end && *p != '\n' && *p != '\r') ++p;
  return p;
}
#else
inline const char* FindStringSpecial(const char* p, const char* end) {
  return FindStringSpecialSwar(p, end);
}

inline const char* SkipSpaceRun(const char* p, const char* end) {
  while (p != end && IsSpace(*p)) ++p;
  return p;
}

inline const char* FindLineBreak(const char* p, const char* end) {
  while (p != end && *p != '\n' && *p != '\r') ++p;
  return p;
}
#endif

inline const char* SkipSpace(const char* p, const char* end) {
  if (p == end || static_cast<unsigned char>(*p) > ' ') return p;
  return SkipSpaceRun(p, end);
}

// `p` is at the backslash.
inline const char* ScanEscape(const char* p, const char* end, Fault& fault) {
  if (end - p < 2) return Fail(fault, end, "the string is not closed");
  switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return p + 2;
    case 'u':
      break;
    default:
      return Fail(fault, p, "unknown escape in a string");
  }
  for (int i = 2; i < 6; ++i) {
    if (end - p <= i) return Fail(fault, end, "the string is not closed");
    const char lower = static_cast<char>(p[i] | 0x20);
    if (!IsDigit(p[i]) && (lower < 'a' || lower > 'f')) {
      return Fail(fault, p, "\\u needs four hexadecimal digits");
    }
  }
  return p + 6;
}

// `p` is at a byte >= 0x80. Goes on to the next byte below 0x80. The common two and three byte
// forms are decided here, the rest and every doubt by Utf8SequenceLength.
inline const char* ScanMultiByte(const char* p, const char* end, Fault& fault) {
  const auto continues = [](char c) { return static_cast<signed char>(c) < -64; };
  do {
    const auto first = static_cast<unsigned char>(*p);
    if (end - p >= 3 && first >= 0xE1 && first != 0xED && first < 0xF0 && continues(p[1]) &&
        continues(p[2])) {
      p += 3;
    } else if (end - p >= 2 && first >= 0xC2 && first < 0xE0 && continues(p[1])) {
      p += 2;
    } else {
      const size_t length = Utf8SequenceLength({p, static_cast<size_t>(end - p)});
      if (length == 0) return Fail(fault, p, "the text is not UTF-8");
      p += length;
    }
  } while (p != end && IsHighByte(*p));
  return p;
}

// `p` is behind the opening quote. Sets `escaped` if there is any escape, else leaves it.
inline const char* ScanString(const char* p, const char* end, bool& escaped, Fault& fault) {
  for (;;) {
    p = FindStringSpecial(p, end);
    if (p == end) return Fail(fault, end, "the string is not closed");
    if (*p == '"') return p + 1;
    if (*p == '\\') {
      escaped = true;
      p = ScanEscape(p, end, fault);
    } else if (IsHighByte(*p)) {
      p = ScanMultiByte(p, end, fault);
    } else {
      return Fail(fault, p, "a control character in a string must be escaped");
    }
    if (p == nullptr) return nullptr;
  }
}

inline const char* ScanDigits(const char* p, const char* end) {
  while (p != end && IsDigit(*p)) ++p;
  return p;
}

// `p` is at '-' or a digit.
inline const char* ScanNumber(const char* p, const char* end, Fault& fault) {
  if (*p == '-') ++p;
  if (p == end || !IsDigit(*p)) return Fail(fault, p, "expected a digit");
  if (*p == '0') {
    ++p;
    if (p != end && IsDigit(*p)) return Fail(fault, p, "a number may not begin with 0");
  } else {
    p = ScanDigits(p + 1, end);
  }
  if (p != end && *p == '.') {
    ++p;
    if (p == end || !IsDigit(*p)) return Fail(fault, p, "expected a digit after the point");
    p = ScanDigits(p + 1, end);
  }
  if (p != end && (*p | 0x20) == 'e') {
    ++p;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    if (p == end || !IsDigit(*p)) return Fail(fault, p, "expected a digit in the exponent");
    p = ScanDigits(p + 1, end);
  }
  return p;
}

// `p` is at the first letter of what should be `word` (null, true or false).
inline const char* ScanWord(const char* p, const char* end, std::string_view word, Fault& fault) {
  if (static_cast<size_t>(end - p) < word.size() || std::memcmp(p, word.data(), word.size()) != 0) {
    return Fail(fault, p, "expected a value");
  }
  return p + word.size();
}

}  // namespace queen::json_scan
