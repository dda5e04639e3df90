// The JSON reader against the plain checker on arbitrary bytes: the same verdict from a whole parse
// and from a walk that enters, reads, skips and leaves as the input says; then everything that
// can be asked of a valid value.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_line.h"
#include "base/json_oracle.h"
#include "base/json_range.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "require.h"

namespace {

using queen::JsonKind;
using queen::JsonReader;
using queen::JsonValue;

// The choices of a walk come from the text itself, so that a crash replays.
class Choices {
 public:
  explicit Choices(std::string_view text) : state_(0x9E3779B97F4A7C15 + text.size()) {
    for (const char c : text.substr(0, 64)) state_ = state_ * 31 + static_cast<unsigned char>(c);
  }
  uint64_t Below(uint64_t limit) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

bool Walk(std::string_view text) {
  Choices choices(text);
  JsonReader reader(text);
  std::string open;
  while (!reader.failed()) {
    const JsonKind kind = reader.Peek();
    if (kind == JsonKind::kObject && choices.Below(4) != 0) {
      if (reader.EnterObject()) open += '{';
    } else if (kind == JsonKind::kArray && choices.Below(4) != 0) {
      if (reader.EnterArray()) open += '[';
    } else if (kind != JsonKind::kAbsent && choices.Below(2) != 0) {
      const JsonValue value = reader.Value();
      Require(reader.failed() == value.absent(), "a value is absent exactly after a fault");
      Require(value.absent() || value.kind() == kind, "Peek and Value differ");
    }
    if (open.empty()) break;
    if (choices.Below(16) == 0) {
      reader.Leave();
      open.pop_back();
    } else if (!(open.back() == '{' ? reader.NextField() : reader.NextElement())) {
      open.pop_back();
    }
  }
  return reader.Finish().ok();
}

void CheckString(const JsonValue& value) {
  queen::JsonScratch scratch;
  const queen::JsonText text = value.Text(scratch);
  Require(queen::IsValidUtf8(text.text), "a decoded string is not UTF-8");
  Require(text.text.size() + 2 <= value.raw().size(), "a decoded string has grown");
  Require(text.has_nul == (text.text.find('\0') != std::string_view::npos), "NUL not told");
  Require(value.String(scratch).ok() == text.storable(), "String and Text differ");
}

void CheckNumber(const JsonValue& value) {
  const auto whole = value.Int64();
  const auto real = value.Double();
  if (whole.ok()) Require(real.ok(), "an integer that is no double");
  if (whole.ok()) Require(static_cast<double>(*whole) == *real, "integer and double differ");
}

void CheckValue(const JsonValue& value, int levels) {
  Require(queen::ParseJson(value.raw()).ok(), "a slice is not JSON");
  if (value.is_string()) CheckString(value);
  if (value.is_number()) CheckNumber(value);
  if (levels == 0) return;
  for (const JsonValue element : queen::JsonElements(value)) CheckValue(element, levels - 1);
  for (const queen::JsonField& field : queen::JsonFields(value)) {
    Require(!value.Find(field.key).absent(), "a key is not found");
    CheckValue(field.value, levels - 1);
  }
}

void CheckLine(std::string_view text) {
  std::string line;
  queen::AppendJsonLine(line, text);
  Require(line.size() == text.size(), "the line has another length");
  Require(line.find_first_of("\r\n") == std::string::npos, "the line has a line break");
  Require(queen::ParseJson(line).ok(), "the line is not JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool expected = queen::JsonOracle::Accepts(text, queen::kJsonDepthMax);
  const queen::Result<JsonValue> value = queen::ParseJson(text);
  Require(value.ok() == expected, "the reader and the plain checker differ");
  Require(Walk(text) == expected, "a walk and a whole parse differ");
  if (!value.ok()) return 0;
  if (size <= 4096) CheckValue(*value, 3);
  CheckLine(text);
  return 0;
}
