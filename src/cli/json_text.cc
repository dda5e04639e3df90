#include "cli/json_text.h"

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace queen::cli {
namespace {

void WriteMeant(JsonWriter& writer, const JsonValue& array,
                const std::function<bool(const JsonValue&)>& is_meant) {
  writer.BeginArray();
  for (const JsonValue& element : JsonElements(array)) {
    if (is_meant(element)) writer.Raw(element.raw());
  }
  writer.EndArray();
}

}  // namespace

std::string OnlyElements(const std::string& document, std::string_view key,
                         const std::function<bool(const JsonValue&)>& is_meant) {
  const auto root = ParseJson(document);
  if (!root.ok()) return document;
  std::string out;
  JsonWriter writer(out);
  if (key.empty() && root->is_array()) {
    WriteMeant(writer, *root, is_meant);
    return out;
  }
  if (!root->is_object()) return document;
  writer.BeginObject();
  for (const JsonField& field : JsonFields(*root)) {
    writer.Key(field.key);
    if (field.key == key && field.value.is_array()) {
      WriteMeant(writer, field.value, is_meant);
    } else {
      writer.Raw(field.value.raw());
    }
  }
  writer.EndObject();
  return out;
}

}  // namespace queen::cli
