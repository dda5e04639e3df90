// JsonValue: one value of a JSON text that has been validated, as a slice of that text. It owns
// nothing, is cheap to copy and lives as long as the text does. There is no document tree: looking
// into an object or array reads its slice again, so hot paths take what they need with a JsonReader
// in one pass and keep JsonValues of the leaves.
//
// A default JsonValue is absent, which is not null: Find answers it for a missing key.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_scratch.h"
#include "base/json_string.h"
#include "base/status.h"

namespace queen {

enum class JsonKind : uint8_t { kAbsent, kNull, kBool, kNumber, kString, kArray, kObject };

// "null", "boolean", "number", ..., for messages.
std::string_view NameOf(JsonKind kind);

class JsonValue {
 public:
  JsonValue() = default;

  JsonKind kind() const { return kind_; }
  bool absent() const { return kind_ == JsonKind::kAbsent; }
  bool is_null() const { return kind_ == JsonKind::kNull; }
  bool is_bool() const { return kind_ == JsonKind::kBool; }
  bool is_number() const { return kind_ == JsonKind::kNumber; }
  bool is_string() const { return kind_ == JsonKind::kString; }
  bool is_array() const { return kind_ == JsonKind::kArray; }
  bool is_object() const { return kind_ == JsonKind::kObject; }
  bool absent_or_null() const { return absent() || is_null(); }

  // The bytes of the value as they came, quotes and brackets included; "" when absent.
  std::string_view raw() const { return raw_; }

  // The decoded string: a slice of the text, or in `scratch` if there are escapes. What a name may
  // not contain is told in the flags of JsonText. REQUIRES: is_string()
  JsonText Text(JsonScratch& scratch) const;

  // As Text, and a kInvalidRequest for anything but a string without NUL and lone surrogates.
  // Messages of this and the getters below begin with "must ", for the caller to put the name of
  // the field in front.
  Result<std::string_view> String(JsonScratch& scratch) const;

  // A whole number within int64 (7, 7.0, 7e2); kInvalidRequest otherwise.
  Result<int64_t> Int64() const;
  // kInvalidRequest if it is no number or larger than any double.
  Result<double> Double() const;
  Result<bool> Bool() const;

  // The value of `key` in this object, the last one if the key is repeated (as in JavaScript);
  // absent if there is none or this is no object. Reads the whole object.
  JsonValue Find(std::string_view key) const;

 private:
  friend class JsonReader;
  JsonValue(JsonKind kind, std::string_view raw, bool escaped)
      : raw_(raw), kind_(kind), escaped_(escaped) {}

  std::string_view raw_;
  JsonKind kind_ = JsonKind::kAbsent;
  bool escaped_ = false;  // a string with escapes
};

}  // namespace queen
