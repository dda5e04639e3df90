#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/utf8.h"

namespace queen {
namespace {

// True for bytes that may stand in a JSON string as they are.
bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void AppendEscape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else if (length == 1) {
      AppendEscape(out, text[0]);
      text.remove_prefix(1);
    } else {
      out.append(text.data(), length);
      text.remove_prefix(length);
    }
  }
  out += '"';
}

void AppendJsonNumber(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  fmt::format_to(std::back_inserter(out), "{}", number);
}

void JsonWriter::Comma() {
  if (need_comma_) out_ += ',';
  need_comma_ = true;
}

void JsonWriter::Open(char bracket) {
  Comma();
  out_ += bracket;
  need_comma_ = false;
}

void JsonWriter::Close(char bracket) {
  out_ += bracket;
  need_comma_ = true;
}

void JsonWriter::Key(std::string_view key) {
  Comma();
  AppendJsonString(out_, key);
  out_ += ':';
  need_comma_ = false;
}

void JsonWriter::String(std::string_view value) {
  Comma();
  AppendJsonString(out_, value);
}

void JsonWriter::Int(int64_t value) {
  Comma();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::Number(double value) {
  Comma();
  AppendJsonNumber(out_, value);
}

void JsonWriter::Bool(bool value) {
  Comma();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Comma();
  out_ += "null";
}

void JsonWriter::Raw(std::string_view json) {
  Comma();
  out_ += json;
}

}  // namespace queen
