#include "api/push_items.h"

#include <fmt/format.h>

#include <string>

#include "api/message_meta.h"
#include "api/names.h"
#include "base/trace_context.h"
#include "http/request.h"

namespace queen::api {
namespace {

using sidecar::PushItem;

struct Fields {
  JsonValue queue;
  JsonValue partition;
  JsonValue payload;
  JsonValue transaction_id;
  JsonValue trace_id;
  JsonValue headers;
};

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }

JsonValue* FieldNamed(std::string_view key, Fields& fields) {
  if (key == "queue") return &fields.queue;
  if (key == "partition") return &fields.partition;
  if (key == "payload") return &fields.payload;
  if (key == "transactionId") return &fields.transaction_id;
  if (key == "traceId") return &fields.trace_id;
  if (key == "headers") return &fields.headers;
  return nullptr;
}

// An element that is no object has no fields, and so no queue.
Fields ReadFields(JsonReader& reader) {
  Fields fields;
  if (!reader.EnterObject()) return fields;
  while (reader.NextField()) {
    if (JsonValue* field = FieldNamed(reader.key(), fields)) *field = reader.Value();
  }
  return fields;
}

Status CheckTypes(const Fields& fields) {
  if (!fields.queue.is_string()) return Invalid("Queue must be a string");
  // A string of length 0 is "" with its quotes.
  if (fields.queue.raw().size() == 2) return Invalid("Queue must be a string that is not empty");
  if (!fields.partition.absent() && !fields.partition.is_string()) {
    return Invalid("Partition must be a string");
  }
  if (!fields.transaction_id.absent_or_null() && !fields.transaction_id.is_string()) {
    return Invalid("transactionId must be a string");
  }
  if (!fields.trace_id.absent_or_null() && !fields.trace_id.is_string()) {
    return Invalid("traceId must be a string");
  }
  if (!fields.headers.absent_or_null() && !fields.headers.is_object()) {
    return Invalid("headers must be an object");
  }
  return Status::Ok();
}

bool IsTraceHeader(std::string_view key) {
  return http::EqualsIgnoringCase(key, kTraceparent) || http::EqualsIgnoringCase(key, kTracestate);
}

// The object without the space between its tokens, so that it is one line.
Result<std::string> CompactHeaders(const JsonValue& headers, std::string_view trace_headers) {
  std::string text = "{";
  bool own_trace = false;
  JsonReader reader(headers.raw());
  reader.EnterObject();
  while (reader.NextField()) {
    const JsonValue value = reader.Value();
    if (!value.is_string()) return Invalid("headers must be a flat object of strings");
    own_trace = own_trace || IsTraceHeader(reader.key());
    if (text.size() > 1) text += ',';
    text.append(reader.key_value().raw()).append(":").append(value.raw());
  }
  if (text.size() + 1 > kHeadersBytesMax) {
    return Invalid(fmt::format("headers must not be longer than {} bytes", kHeadersBytesMax));
  }
  if (!own_trace && !trace_headers.empty()) {
    if (text.size() > 1) text += ',';
    text += trace_headers;
  }
  text += '}';
  return text;
}

Status FillMeta(const Fields& fields, const Producer& producer, JsonScratch& scratch,
                PushItem& item) {
  std::optional<Uuid> trace_id;
  if (fields.trace_id.is_string()) {
    const std::string_view text = fields.trace_id.Text(scratch).text;
    trace_id = Uuid::Parse(text);
    if (!trace_id && !text.empty()) return Invalid("traceId must be a UUID");
  }
  std::string headers;
  if (fields.headers.is_object()) {
    Result<std::string> compact = CompactHeaders(fields.headers, producer.trace_headers);
    if (!compact.ok()) return compact.status();
    headers = *std::move(compact);
  } else if (!producer.trace_headers.empty()) {
    headers.append("{").append(producer.trace_headers).append("}");
  }
  if (trace_id || !headers.empty() || !producer.sub.empty()) {
    item.meta = WriteMessageMeta(trace_id, headers, producer.sub);
  }
  return Status::Ok();
}

// An error here is the item's alone. REQUIRES: CheckTypes is ok
Status FillItem(const Fields& fields, const Producer& producer, JsonScratch& scratch,
                PushItem& item) {
  const JsonText queue = fields.queue.Text(scratch);
  item.queue = queue.text;
  JsonText partition{.text = sidecar::kDefaultPartition};
  if (fields.partition.is_string()) partition = fields.partition.Text(scratch);
  item.partition = partition.text;
  item.payload = fields.payload.absent() ? std::string_view("null") : fields.payload.raw();
  QUEEN_RETURN_IF_ERROR(CheckName("queue", queue));
  QUEEN_RETURN_IF_ERROR(CheckName("partition", partition));
  if (fields.transaction_id.is_string()) {
    const JsonText id = fields.transaction_id.Text(scratch);
    item.txn = id.text;
    QUEEN_RETURN_IF_ERROR(CheckTransactionId(id));
  }
  return FillMeta(fields, producer, scratch, item);
}

}  // namespace

Status ReadPushItems(JsonReader& reader, const Producer& producer, JsonScratch& scratch,
                     std::vector<PushItem>& items) {
  Status problem;
  while (reader.NextElement()) {
    const Fields fields = ReadFields(reader);
    if (!problem.ok()) continue;
    problem = CheckTypes(fields);
    if (problem.ok() && items.size() == kPushItemsMax) {
      problem =
          Status(Code::kPayloadTooLarge, fmt::format("A push has at most {} items", kPushItemsMax));
    }
    if (!problem.ok()) continue;
    PushItem& item = items.emplace_back();
    item.error = FillItem(fields, producer, scratch, item).message();
  }
  return problem;
}

}  // namespace queen::api
