// Decoding JSON strings. A JSON string may say things that no text of PostgreSQL and no name can
// hold: \u0000 and halves of surrogate pairs. They are valid JSON and stay as they are in payloads;
// whoever wants the decoded text as a name learns of them here.
#pragma once

#include <string_view>

#include "base/json_scratch.h"

namespace queen {

// A decoded string. `text` is valid UTF-8 in any case: a lone surrogate is shown as U+FFFD.
struct JsonText {
  std::string_view text;
  bool has_nul = false;
  bool has_lone_surrogate = false;

  // True if `text` is exactly what was said and PostgreSQL can store it.
  bool storable() const { return !has_nul && !has_lone_surrogate; }
};

// Decodes the contents of a string (between the quotes) into `scratch`.
// REQUIRES: `contents` passed the JsonReader.
JsonText DecodeJsonString(std::string_view contents, JsonScratch& scratch);

}  // namespace queen
