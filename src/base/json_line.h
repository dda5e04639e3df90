// One JSON document, one line: how payloads are stored (storage/lines.h).
#pragma once

#include <string>
#include <string_view>

namespace queen {

// Appends `json` with each LF and CR turned into a space. In valid JSON they can only stand
// between tokens, so the value is the same; no other byte changes, and the length does not.
// REQUIRES: `json` passed the JsonReader.
void AppendJsonLine(std::string& out, std::string_view json);

}  // namespace queen
