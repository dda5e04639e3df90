#include "api/names.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace queen::api {
namespace {

Status Must(std::string_view field, std::string_view rule) {
  return Status(Code::kInvalidRequest, fmt::format("{} must {}", field, rule));
}

bool IsPrintableAscii(char c) { return c >= 0x20 && c < 0x7F; }

// Nearly every name; without branches, because every item of every push asks.
bool AllPrintableAscii(std::string_view text) {
  bool all = true;
  for (const char c : text) all &= IsPrintableAscii(c);
  return all;
}

// U+0080..U+009F: control characters too, two bytes each.
bool IsC1Control(std::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xC2' &&
         static_cast<unsigned char>(sequence[1]) < 0xA0;
}

// UTF-8 without control characters; `characters` receives the number of code points.
Status CheckText(std::string_view field, std::string_view text, size_t& characters) {
  characters = 0;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) return Must(field, "be valid UTF-8");
    const bool control =
        length == 1 ? !IsPrintableAscii(text[0]) : IsC1Control(text.substr(0, length));
    if (control) return Must(field, "not contain control characters");
    text.remove_prefix(length);
    ++characters;
  }
  return Status::Ok();
}

}  // namespace

Status CheckName(std::string_view field, std::string_view name) {
  if (name.size() > kNameBytesMax) {
    return Must(field, fmt::format("not be longer than {} bytes", kNameBytesMax));
  }
  if (AllPrintableAscii(name)) return Status::Ok();
  size_t characters = 0;
  return CheckText(field, name, characters);
}

Status CheckName(std::string_view field, const JsonText& name) {
  if (name.has_lone_surrogate) return Must(field, "not contain half of a surrogate pair");
  return CheckName(field, name.text);
}

Status CheckTransactionId(const JsonText& id) {
  constexpr std::string_view kField = "transactionId";
  if (id.has_lone_surrogate) return Must(kField, "not contain half of a surrogate pair");
  size_t characters = id.text.size();
  if (!AllPrintableAscii(id.text)) QUEEN_RETURN_IF_ERROR(CheckText(kField, id.text, characters));
  if (characters <= kTransactionIdCharactersMax) return Status::Ok();
  return Must(kField, fmt::format("not be longer than {} characters", kTransactionIdCharactersMax));
}

Status CheckStateKey(std::string_view field, const JsonText& key) {
  if (key.text.size() > kStateKeyBytesMax) {
    return Must(field, fmt::format("not be longer than {} bytes", kStateKeyBytesMax));
  }
  if (key.has_lone_surrogate) return Must(field, "not contain half of a surrogate pair");
  if (key.text.find('\0') != key.text.npos) return Must(field, "not contain NUL");
  if (!IsValidUtf8(key.text)) return Must(field, "be valid UTF-8");
  return Status::Ok();
}

}  // namespace queen::api
