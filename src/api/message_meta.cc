#include "api/message_meta.h"

#include "api/append.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace queen::api {

std::string WriteMessageMeta(const std::optional<Uuid>& trace_id, std::string_view headers,
                             std::string_view producer_sub) {
  std::string line;
  const auto key = [&line](std::string_view name) {
    line += line.empty() ? "{\"" : ",\"";
    line.append(name).append("\":");
  };
  if (trace_id) {
    key("traceId");
    line += '"';
    AppendUuid(line, *trace_id);
    line += '"';
  }
  if (!headers.empty()) {
    key("headers");
    line += headers;
  }
  if (!producer_sub.empty()) {
    key("producerSub");
    AppendJsonString(line, producer_sub);
  }
  if (!line.empty()) line += '}';
  return line;
}

MessageMeta ReadMessageMeta(std::string_view line) {
  MessageMeta meta;
  if (line.empty()) return meta;
  JsonReader reader(line);
  if (!reader.EnterObject()) return meta;
  while (reader.NextField()) {
    const std::string_view key = reader.key();
    if (key == "traceId") {
      const JsonValue value = reader.Value();
      meta.trace_id = value.is_string() ? value.raw() : std::string_view();
    } else if (key == "headers") {
      const JsonValue value = reader.Value();
      meta.headers = value.is_object() ? value.raw() : std::string_view();
    } else if (key == "producerSub") {
      const JsonValue value = reader.Value();
      meta.producer_sub = value.is_string() ? value.raw() : std::string_view();
    } else if (key == "encrypted") {
      meta.encrypted = reader.Value().raw() == "true";
    }
  }
  return reader.Finish().ok() ? meta : MessageMeta();
}

}  // namespace queen::api
