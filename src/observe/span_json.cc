#include "observe/span_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"

namespace queen::observe {
namespace {

constexpr int kStatusError = 2;
// Of a link or a parent: that it is known to be, and is, of another process.
constexpr uint32_t kRemote = 0x300;

// OTLP's list of typed values.
class Attributes {
 public:
  explicit Attributes(JsonWriter& json) : json_(json) {
    json_.Key("attributes");
    json_.BeginArray();
  }
  ~Attributes() { json_.EndArray(); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void Text(std::string_view key, std::string_view value) {
    Begin(key);
    json_.Field("stringValue", value);
    End();
  }
  void TextIfAny(std::string_view key, std::string_view value) {
    if (!value.empty()) Text(key, value);
  }
  // JSON of protocol buffers writes 64 bits as a text.
  void Int(std::string_view key, size_t value) {
    Begin(key);
    json_.Field("intValue", fmt::to_string(value));
    End();
  }
  void True(std::string_view key) {
    Begin(key);
    json_.Field("boolValue", true);
    End();
  }
  void Uuids(std::string_view key, const std::vector<Uuid>& ids) {
    Begin(key);
    json_.Key("arrayValue");
    json_.BeginObject();
    json_.Key("values");
    json_.BeginArray();
    for (const Uuid& id : ids) {
      json_.BeginObject();
      json_.Field("stringValue", id.ToString());
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
    End();
  }

 private:
  void Begin(std::string_view key) {
    json_.BeginObject();
    json_.Field("key", key);
    json_.Key("value");
    json_.BeginObject();
  }
  void End() {
    json_.EndObject();
    json_.EndObject();
  }

  JsonWriter& json_;
};

template <size_t kSize>
std::string Hex(const std::array<uint8_t, kSize>& bytes) {
  std::string text;
  AppendHex(text, bytes);
  return text;
}

// create, send, receive, process or settle.
std::string_view TypeOf(const Span& span) {
  if (span.operation == Operation::kPop) return "receive";
  return span.kind == SpanKind::kProducer ? "send" : "settle";
}

void WriteAttributes(JsonWriter& json, const Span& span) {
  Attributes attributes(json);
  attributes.Text("messaging.system", "queen");
  attributes.Text("messaging.operation.name", NameOf(span.operation));
  attributes.Text("messaging.operation.type", TypeOf(span));
  attributes.TextIfAny("messaging.destination.name", span.queue);
  // Inside its queue a partition's name is unique, and people know it by that.
  attributes.TextIfAny("messaging.destination.partition.id", span.partition);
  attributes.TextIfAny("messaging.consumer.group.name", span.group);
  attributes.Int("messaging.batch.message_count", span.messages);
  if (span.messages == 1 && span.message_ids.size() == 1) {
    attributes.Text("messaging.message.id", span.message_ids.front().ToString());
  } else if (!span.message_ids.empty()) {
    attributes.Uuids("queen.message.ids", span.message_ids);
  }
  if (span.partition_id) {
    attributes.Text("queen.partition.id", EncodePartitionId(*span.partition_id).ToString());
  }
  if (span.lease_id) attributes.Text("queen.lease.id", span.lease_id->ToString());
  attributes.TextIfAny("queen.ack.status", span.verdict);
  if (span.failed > 0) attributes.Int("queen.messages.failed", span.failed);
  if (span.waited) attributes.True("queen.pop.waited");
  if (span.auto_ack) attributes.True("queen.pop.auto_ack");
  attributes.TextIfAny("error.type", span.error);
}

void WriteLink(JsonWriter& json, const SpanLink& link) {
  json.BeginObject();
  json.Field("traceId", Hex(link.context.trace_id));
  json.Field("spanId", Hex(link.context.span_id));
  json.Field("flags", static_cast<int64_t>(link.context.flags | kRemote));
  if (link.message_id) {
    Attributes(json).Text("messaging.message.id", link.message_id->ToString());
  }
  json.EndObject();
}

void WriteSpan(JsonWriter& json, const Span& span) {
  json.BeginObject();
  json.Field("traceId", Hex(span.context.trace_id));
  json.Field("spanId", Hex(span.context.span_id));
  if (span.parent != decltype(span.parent){}) json.Field("parentSpanId", Hex(span.parent));
  json.Field("flags", static_cast<int64_t>(span.context.flags | kRemote));
  std::string name(NameOf(span.operation));
  if (!span.queue.empty()) name.append(" ").append(span.queue);
  json.Field("name", name);
  json.Field("kind", static_cast<int>(span.kind));
  json.Field("startTimeUnixNano", fmt::format("{}000", span.begin_micros));
  json.Field("endTimeUnixNano", fmt::format("{}000", span.end_micros));
  WriteAttributes(json, span);
  if (!span.links.empty()) {
    json.Key("links");
    json.BeginArray();
    for (const SpanLink& link : span.links) WriteLink(json, link);
    json.EndArray();
  }
  if (span.links_left_out > 0) {
    json.Field("droppedLinksCount", static_cast<int64_t>(span.links_left_out));
  }
  if (!span.error.empty()) {
    json.Key("status");
    json.BeginObject();
    json.Field("code", kStatusError);
    json.Field("message", span.error_text);
    json.EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string WriteSpans(const Resource& resource, std::string_view version,
                       std::span<const Span> spans) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("resourceSpans");
  json.BeginArray();
  json.BeginObject();
  json.Key("resource");
  json.BeginObject();
  {
    Attributes attributes(json);
    for (const auto& [key, value] : resource) attributes.Text(key, value);
  }
  json.EndObject();
  json.Key("scopeSpans");
  json.BeginArray();
  json.BeginObject();
  json.Key("scope");
  json.BeginObject();
  json.Field("name", "queen");
  json.Field("version", version);
  json.EndObject();
  json.Key("spans");
  json.BeginArray();
  for (const Span& span : spans) WriteSpan(json, span);
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  return out;
}

}  // namespace queen::observe
