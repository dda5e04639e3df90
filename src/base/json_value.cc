#include "base/json_value.h"

#include <array>
#include <cassert>

#include "base/json_number.h"
#include "base/json_reader.h"

namespace queen {
namespace {

Status Must(std::string message) {
  return Status(Code::kInvalidRequest, "must " + std::move(message));
}

}  // namespace

std::string_view NameOf(JsonKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"absent", "null",  "boolean", "number",
                                                      "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

JsonText JsonValue::Text(JsonScratch& scratch) const {
  assert(is_string());
  const std::string_view contents = raw_.substr(1, raw_.size() - 2);
  if (!escaped_) return JsonText{.text = contents};
  return DecodeJsonString(contents, scratch);
}

Result<std::string_view> JsonValue::String(JsonScratch& scratch) const {
  if (!is_string()) return Must("be a string");
  const JsonText decoded = Text(scratch);
  if (decoded.has_nul) return Must("not contain the character U+0000");
  if (decoded.has_lone_surrogate) return Must("not contain half of a surrogate pair");
  return decoded.text;
}

Result<int64_t> JsonValue::Int64() const {
  if (!is_number()) return Must("be a whole number");
  if (const auto value = JsonNumberToInt64(raw_)) return *value;
  return Must("be a whole number of at most 64 bits");
}

Result<double> JsonValue::Double() const {
  if (!is_number()) return Must("be a number");
  if (const auto value = JsonNumberToDouble(raw_)) return *value;
  return Must("be a number below 1.8e308");
}

Result<bool> JsonValue::Bool() const {
  if (!is_bool()) return Must("be true or false");
  return raw_ == "true";
}

JsonValue JsonValue::Find(std::string_view key) const {
  JsonValue found;
  if (!is_object()) return found;
  JsonReader reader(raw_);
  reader.EnterObject();
  while (reader.NextField()) {
    if (reader.key() == key) found = reader.Value();
  }
  return found;
}

}  // namespace queen
