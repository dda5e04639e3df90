#include "base/json_reader.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

namespace queen {
namespace {

using json_scan::ScanNumber;
using json_scan::ScanString;
using json_scan::ScanWord;
using json_scan::SkipSpace;

constexpr const char* kEndsEarly = "the text ends in the middle of a value";

// The kind of a value by its first byte.
constexpr std::array<JsonKind, 256> MakeKinds() {
  std::array<JsonKind, 256> kinds{};
  kinds['{'] = JsonKind::kObject;
  kinds['['] = JsonKind::kArray;
  kinds['"'] = JsonKind::kString;
  kinds['n'] = JsonKind::kNull;
  kinds['t'] = kinds['f'] = JsonKind::kBool;
  kinds['-'] = JsonKind::kNumber;
  for (size_t digit = '0'; digit <= '9'; ++digit) kinds[digit] = JsonKind::kNumber;
  return kinds;
}

constexpr std::array<JsonKind, 256> kKinds = MakeKinds();

inline JsonKind KindAt(const char* p) { return kKinds[static_cast<unsigned char>(*p)]; }

// Reads a string, number or word; `kind` is KindAt(p). Brackets begin nothing here.
inline const char* ScanScalar(JsonKind kind, const char* p, const char* end, bool& escaped,
                              json_scan::Fault& fault) {
  switch (kind) {
    case JsonKind::kString:
      return ScanString(p + 1, end, escaped, fault);
    case JsonKind::kNumber:
      return ScanNumber(p, end, fault);
    case JsonKind::kNull:
      return ScanWord(p, end, "null", fault);
    case JsonKind::kBool:
      return ScanWord(p, end, *p == 't' ? "true" : "false", fault);
    default:
      return json_scan::Fail(fault, p, "expected a value");
  }
}

// From where a key should begin to behind its closing quote.
inline const char* ScanKey(const char* p, const char* end, bool& escaped, json_scan::Fault& fault) {
  if (p == end) return json_scan::Fail(fault, p, kEndsEarly);
  if (*p != '"') return json_scan::Fail(fault, p, "expected a string as key");
  return ScanString(p + 1, end, escaped, fault);
}

// From behind a key to the first byte of its value.
inline const char* ScanColon(const char* p, const char* end, json_scan::Fault& fault) {
  p = SkipSpace(p, end);
  if (p == end) return json_scan::Fail(fault, p, kEndsEarly);
  if (*p != ':') return json_scan::Fail(fault, p, "expected ':' after the key");
  return SkipSpace(p + 1, end);
}

}  // namespace

JsonReader::JsonReader(std::string_view text)
    : p_(text.data()), end_(text.data() + text.size()), begin_(text.data()) {
  p_ = SkipSpace(p_, end_);
}

void JsonReader::Fail(const char* at, const char* what) {
  fault_ = {at, what};
  next_ = Next::kFault;
}

bool JsonReader::inside_object() const {
  return (objects_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64) & 1) != 0;
}

// Enters the object or array whose bracket is `at`; false if that is too deep.
bool JsonReader::Open(const char* at, bool object) {
  if (depth_ == kJsonDepthMax) {
    Fail(at, "nested too deeply");
    return false;
  }
  const uint64_t bit = uint64_t{1} << (depth_ % 64);
  uint64_t& word = objects_[depth_ / 64];
  word = object ? word | bit : word & ~bit;
  ++depth_;
  return true;
}

JsonKind JsonReader::Peek() const {
  return next_ == Next::kValue && p_ != end_ ? KindAt(p_) : JsonKind::kAbsent;
}

bool JsonReader::EnterObject() {
  if (Peek() != JsonKind::kObject || !Open(p_, true)) return false;
  ++p_;
  next_ = Next::kFirst;
  return true;
}

bool JsonReader::EnterArray() {
  if (Peek() != JsonKind::kArray || !Open(p_, false)) return false;
  ++p_;
  next_ = Next::kFirst;
  return true;
}

// Skips to where a member of the innermost container begins; false if it is closed instead.
bool JsonReader::NextMember(char close) {
  if (next_ == Next::kValue) SkipTo(depth_);
  if (next_ == Next::kFault) return false;
  if (depth_ == 0 || inside_object() != (close == '}')) return false;
  p_ = SkipSpace(p_, end_);
  if (p_ == end_) {
    Fail(p_, kEndsEarly);
    return false;
  }
  if (*p_ == close) {
    ++p_;
    --depth_;
    next_ = Next::kAfter;
    return false;
  }
  if (next_ == Next::kAfter) {
    if (*p_ != ',') {
      Fail(p_, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
      return false;
    }
    p_ = SkipSpace(p_ + 1, end_);
  }
  next_ = Next::kValue;
  return true;
}

bool JsonReader::NextElement() { return NextMember(']'); }

bool JsonReader::NextField() {
  if (!NextMember('}')) return false;
  bool escaped = false;
  const char* const start = p_;
  const char* const behind_key = ScanKey(start, end_, escaped, fault_);
  const char* const value = behind_key == nullptr ? nullptr : ScanColon(behind_key, end_, fault_);
  if (value == nullptr) {
    next_ = Next::kFault;
    return false;
  }
  p_ = value;
  key_value_ =
      JsonValue(JsonKind::kString, {start, static_cast<size_t>(behind_key - start)}, escaped);
  key_ = {start + 1, static_cast<size_t>(behind_key - start) - 2};
  if (escaped) {
    key_scratch_.Clear();
    key_ = DecodeJsonString(key_, key_scratch_).text;
  }
  return true;
}

JsonValue JsonReader::Value() {
  if (failed()) return {};
  assert(next_ == Next::kValue);
  const JsonKind kind = Peek();
  const char* const start = p_;
  bool escaped = false;
  if (kind == JsonKind::kObject || kind == JsonKind::kArray || p_ == end_) {
    SkipTo(depth_);
  } else {
    p_ = ScanScalar(kind, p_, end_, escaped, fault_);
    next_ = p_ == nullptr ? Next::kFault : Next::kAfter;
  }
  if (failed()) return {};
  return JsonValue(kind, {start, static_cast<size_t>(p_ - start)}, escaped);
}

void JsonReader::Leave() {
  if (failed()) return;
  assert(depth_ > 0);
  SkipTo(depth_ - 1);
}

// Reads on until a value has ended at `depth`. One loop, no recursion: a value, then what may
// follow it.
void JsonReader::SkipTo(size_t depth) {
  const char* p = p_;
  const char* const end = end_;
  Next next = next_;
  bool escaped = false;
  while (next != Next::kAfter || depth_ != depth) {
    if (next == Next::kValue) {
      if (p == end) return Fail(p, depth_ == 0 ? "there is no value" : kEndsEarly);
      if (*p == '{' || *p == '[') {
        if (!Open(p, *p == '{')) return;
        ++p;
        next = Next::kFirst;
      } else {
        p = ScanScalar(KindAt(p), p, end, escaped, fault_);
        next = Next::kAfter;
        if (p == nullptr) return Fail(fault_.at, fault_.what);
        continue;
      }
    }
    const bool object = inside_object();
    p = SkipSpace(p, end);
    if (p == end) return Fail(p, kEndsEarly);
    if (*p == (object ? '}' : ']')) {
      ++p;
      --depth_;
      next = Next::kAfter;
      continue;
    }
    if (next == Next::kAfter) {
      if (*p != ',') return Fail(p, object ? "expected ',' or '}'" : "expected ',' or ']'");
      p = SkipSpace(p + 1, end);
    }
    next = Next::kValue;
    if (object) {
      p = ScanKey(p, end, escaped, fault_);
      if (p != nullptr) p = ScanColon(p, end, fault_);
      if (p == nullptr) return Fail(fault_.at, fault_.what);
    }
  }
  p_ = p;
  next_ = Next::kAfter;
}

Status JsonReader::Finish() {
  if (!failed()) SkipTo(0);
  if (!failed()) {
    p_ = SkipSpace(p_, end_);
    if (p_ != end_) Fail(p_, "more text after the value");
  }
  return status();
}

Status JsonReader::status() const {
  if (!failed()) return Status::Ok();
  return Status(Code::kInvalidRequest,
                fmt::format("Invalid JSON at byte {}: {}", fault_.at - begin_, fault_.what));
}

Result<JsonValue> ParseJson(std::string_view text) {
  JsonReader reader(text);
  const JsonValue value = reader.Value();
  QUEEN_RETURN_IF_ERROR(reader.Finish());
  return value;
}

}  // namespace queen
