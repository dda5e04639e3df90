// The small parts of replies that are not worth a JsonWriter: ids and numbers, appended in place.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/uuid.h"

namespace queen::api {

inline constexpr size_t kUuidTextBytes = 36;

// The 36 characters, without quotes.
inline void AppendUuid(std::string& out, const Uuid& uuid) {
  const size_t at = out.size();
  out.resize(at + kUuidTextBytes);
  uuid.Format(out.data() + at);
}

inline void AppendInt(std::string& out, int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

}  // namespace queen::api
