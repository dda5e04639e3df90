// JsonReader: validates a JSON text (RFC 8259) and hands out its values in one forward pass. Every
// byte is checked exactly once, also those of values that nobody asked for: grammar, numbers,
// escapes, control characters, UTF-8. Lone surrogate escapes, repeated keys and numbers of any size
// are valid; nesting deeper than kJsonDepthMax is refused. Values are slices of the text, which
// must outlive them; nothing is allocated unless a key has escapes.
//
// The first fault is kept: from then on every question answers false or absent, so loops end
// and only Finish needs to be checked. Nothing read is known to be part of a valid text before
// Finish is ok.
//
//   JsonReader reader(body);
//   if (reader.EnterObject()) {
//     while (reader.NextField()) {
//       if (reader.key() == "seconds") seconds = reader.Value();  // a repeated key: the last wins
//     }                                                           // others are skipped, checked
//   }
//   QUEEN_RETURN_IF_ERROR(reader.Finish());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json_scan.h"
#include "base/json_scratch.h"
#include "base/json_value.h"
#include "base/status.h"

namespace queen {

// Objects and arrays inside each other. Nothing recurses: a level costs one bit.
constexpr size_t kJsonDepthMax = 512;

class JsonReader {
 public:
  // At the one value of `text`.
  explicit JsonReader(std::string_view text);

  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  // The kind of the next value by its first byte, without reading it; kAbsent if no value is
  // next or its first byte begins none.
  JsonKind Peek() const;

  // Steps into the next value if it is an object (array): NextField (NextElement) then gives its
  // members. Otherwise false, and the value is still unread.
  bool EnterObject();
  bool EnterArray();

  // Moves to the next member of the innermost entered object (array); false behind the last one,
  // which also leaves it. A value that was not read is skipped. False, too, if the innermost is
  // not an object (array). A loop over members must run until false, or Leave.
  bool NextField();
  bool NextElement();

  // Reads the next value whole. REQUIRES: NextField, NextElement or the constructor came before.
  // Absent after a fault.
  JsonValue Value();

  // Skips what is left of the innermost entered object or array.
  // REQUIRES: inside one, unless failed.
  void Leave();

  // Reads all that is left, and checks that nothing but white space follows the value.
  Status Finish();

  // The key of the last NextField, decoded; valid until the next call of it. Lone surrogates
  // are shown as U+FFFD; key_value() has the bytes as they came.
  std::string_view key() const { return key_; }
  const JsonValue& key_value() const { return key_value_; }

  bool failed() const { return next_ == Next::kFault; }
  // The fault so far ("Invalid JSON at byte 17: ..."), ok while there is none.
  Status status() const;

 private:
  // What the text has to go on with at p_.
  enum class Next : uint8_t {
    kValue,  // a value, p_ is at its first byte or at the end of the text
    kFirst,  // behind '{' or '[': the first member, or the closing bracket
    kAfter,  // behind a value: a comma, a closing bracket, or the end
    kFault,  // nothing, the text is not JSON
  };

  bool inside_object() const;
  bool Open(const char* at, bool object);
  void SkipTo(size_t depth);
  bool NextMember(char close);
  void Fail(const char* at, const char* what);

  const char* p_;
  const char* end_;
  const char* begin_;
  size_t depth_ = 0;
  Next next_ = Next::kValue;
  json_scan::Fault fault_;
  std::array<uint64_t, kJsonDepthMax / 64> objects_{};  // bit per open level: object, not array
  std::string_view key_;
  JsonValue key_value_;
  JsonScratch key_scratch_;
};

// The one value of `text`, all of it validated; kInvalidRequest if it is not JSON.
Result<JsonValue> ParseJson(std::string_view text);

}  // namespace queen
