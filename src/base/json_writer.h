// Appending JSON to a string. There is no document tree: replies are written front to back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace queen {

// Appends `text` as a JSON string with quotes. Control characters are escaped; bytes that are not
// valid UTF-8 become U+FFFD, so the output is valid JSON whatever comes in.
void AppendJsonString(std::string& out, std::string_view text);

// Appends a finite number in its shortest form, anything else as null.
void AppendJsonNumber(std::string& out, double number);

// Writes one object or array at a time: keeps the commas right and nothing else.
//
//   JsonWriter w(out);
//   w.BeginObject(); w.Key("port"); w.Int(6632); w.EndObject();
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }

  void Key(std::string_view key);
  void String(std::string_view value);
  void Int(int64_t value);
  void Number(double value);
  void Bool(bool value);
  void Null();
  // A value that is JSON already.
  void Raw(std::string_view json);

  void Field(std::string_view key, std::string_view value) { Key(key), String(value); }
  void Field(std::string_view key, const char* value) { Key(key), String(value); }
  void Field(std::string_view key, const std::string& value) { Key(key), String(value); }
  void Field(std::string_view key, int64_t value) { Key(key), Int(value); }
  void Field(std::string_view key, int value) { Key(key), Int(value); }
  void Field(std::string_view key, double value) { Key(key), Number(value); }
  void Field(std::string_view key, bool value) { Key(key), Bool(value); }

 private:
  void Open(char bracket);
  void Close(char bracket);
  void Comma();

  std::string& out_;
  bool need_comma_ = false;
};

}  // namespace queen
