// A second opinion for the tests and the fuzzer: is this text JSON, by the shortest road. It goes
// byte by byte and recurses as the grammar does, and shares no code with the reader it judges:
// UTF-8 is decoded to code points and encoded rules checked on those. Not for the broker itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace queen {

class JsonOracle {
 public:
  // True if `text` is one JSON value nested at most `depth_max` deep.
  static bool Accepts(std::string_view text, size_t depth_max) {
    JsonOracle oracle(text, depth_max);
    oracle.Spaces();
    if (!oracle.Value(0)) return false;
    oracle.Spaces();
    return oracle.at_ == text.size();
  }

 private:
  JsonOracle(std::string_view text, size_t depth_max) : text_(text), depth_max_(depth_max) {}

  int Byte() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }

  bool Take(char c) {
    if (Byte() != static_cast<unsigned char>(c)) return false;
    ++at_;
    return true;
  }

  void Spaces() {
    while (Take(' ') || Take('\t') || Take('\r') || Take('\n')) {
    }
  }

  bool Word(std::string_view word) {
    for (const char c : word) {
      if (!Take(c)) return false;
    }
    return true;
  }

  bool Value(size_t depth) {
    switch (Byte()) {
      case '{':
        return depth < depth_max_ && Object(depth + 1);
      case '[':
        return depth < depth_max_ && Array(depth + 1);
      case '"':
        return String();
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

  bool Object(size_t depth) {
    ++at_;
    Spaces();
    if (Take('}')) return true;
    for (;;) {
      Spaces();
      if (!String()) return false;
      Spaces();
      if (!Take(':')) return false;
      Spaces();
      if (!Value(depth)) return false;
      Spaces();
      if (Take('}')) return true;
      if (!Take(',')) return false;
    }
  }

  bool Array(size_t depth) {
    ++at_;
    Spaces();
    if (Take(']')) return true;
    for (;;) {
      Spaces();
      if (!Value(depth)) return false;
      Spaces();
      if (Take(']')) return true;
      if (!Take(',')) return false;
    }
  }

  bool Digits() {
    size_t count = 0;
    for (; Byte() >= '0' && Byte() <= '9'; ++at_) ++count;
    return count > 0;
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      if (!Digits()) return false;
    }
    return true;
  }

  bool HexDigit() {
    const int c = Byte();
    ++at_;
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }

  bool Escape() {
    if (Take('u')) return HexDigit() && HexDigit() && HexDigit() && HexDigit();
    const int c = Byte();
    ++at_;
    return c > 0 &&
           std::string_view("\"\\/bfnrt").find(static_cast<char>(c)) != std::string_view::npos;
  }

  // A sequence of two to four bytes whose code point needs that many and is no surrogate.
  bool MultiByte() {
    const int first = Byte();
    const int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC0 || first > 0xF7) return false;
    auto point = static_cast<uint32_t>(first) & (0xFFu >> (length + 1));
    ++at_;
    for (int i = 1; i < length; ++i) {
      if (Byte() < 0x80 || Byte() > 0xBF) return false;
      point = point << 6 | (static_cast<uint32_t>(Byte()) & 0x3F);
      ++at_;
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    return point >= kSmallest[length] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
  }

  bool String() {
    if (!Take('"')) return false;
    for (;;) {
      const int c = Byte();
      if (c < 0x20) return false;
      if (Take('"')) return true;
      if (c >= 0x80) {
        if (!MultiByte()) return false;
        continue;
      }
      ++at_;
      if (c == '\\' && !Escape()) return false;
    }
  }

  std::string_view text_;
  size_t depth_max_;
  size_t at_ = 0;
};

}  // namespace queen
