#include "api/queue_filter.h"

#include "base/json_range.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using auth::Verb;

bool IsSeen(const JsonValue& name, const auth::QueueLimits& limits) {
  if (!name.is_string()) return false;
  JsonScratch scratch;
  return limits.Allow(Verb::kSee, name.Text(scratch).text);
}

void WriteList(JsonWriter& writer, const JsonValue& list, std::string_view name,
               const auth::QueueLimits& limits) {
  if (!name.empty()) {
    writer.BeginArray();
    for (const JsonValue& entry : JsonElements(list)) {
      if (IsSeen(entry.Find(name), limits)) writer.Raw(entry.raw());
    }
    return writer.EndArray();
  }
  writer.BeginObject();
  for (const JsonField& field : JsonFields(list)) {
    if (!limits.Allow(Verb::kSee, field.key)) continue;
    writer.Key(field.key);
    writer.Raw(field.value.raw());
  }
  writer.EndObject();
}

}  // namespace

std::string KeepQueues(const std::string& document, const QueueList& where,
                       const auth::QueueLimits& limits) {
  std::string out;
  const Result<JsonValue> value = ParseJson(document);
  if (!value.ok()) return out;
  JsonWriter writer(out);
  if (where.list.empty()) {
    WriteList(writer, *value, where.name, limits);
    return out;
  }
  writer.BeginObject();
  for (const JsonField& field : JsonFields(*value)) {
    writer.Key(field.key);
    if (field.key == where.list) {
      WriteList(writer, field.value, where.name, limits);
    } else {
      writer.Raw(field.value.raw());
    }
  }
  writer.EndObject();
  return out;
}

}  // namespace queen::api
