// Reading reports: fields of a JSON document as texts and numbers for a table. What is missing is
// empty or zero, since brokers of other versions answer as well.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json_range.h"
#include "base/json_value.h"

namespace queen::cli {

// The value at a path of keys.
inline JsonValue At(const JsonValue& value, std::initializer_list<std::string_view> keys) {
  JsonValue found = value;
  for (const std::string_view key : keys) found = found.Find(key);
  return found;
}

// A string decoded, another value as it is written, "" for null and nothing.
inline std::string TextOf(const JsonValue& value) {
  if (value.absent_or_null()) return "";
  if (!value.is_string()) return std::string(value.raw());
  JsonScratch scratch;
  return std::string(value.Text(scratch).text);
}

inline std::string TextAt(const JsonValue& value, std::string_view key) {
  return TextOf(value.Find(key));
}

inline double NumberOf(const JsonValue& value) {
  const auto number = value.Double();
  return number.ok() ? *number : 0;
}

inline int64_t CountAt(const JsonValue& value, std::string_view key) {
  return static_cast<int64_t>(NumberOf(value.Find(key)));
}

inline bool TruthAt(const JsonValue& value, std::string_view key) {
  return value.Find(key).raw() == "true";
}

// `document` with only those elements of its array `key` ("": of itself) that are meant, each as it
// was written. What is no such document stays as it is.
std::string OnlyElements(const std::string& document, std::string_view key,
                         const std::function<bool(const JsonValue&)>& is_meant);

// `text`, or a dash where there is none.
inline std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace queen::cli
