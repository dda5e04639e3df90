#include "cli/message_text.h"

#include "base/json_writer.h"

namespace queen::cli {

std::string MessageJson(const client::Message& message) {
  std::string out;
  JsonWriter writer(out);
  const auto text_or_null = [&writer](std::string_view key, const std::string& text) {
    writer.Key(key);
    text.empty() ? writer.Null() : writer.String(text);
  };
  writer.BeginObject();
  writer.Field("id", message.id);
  writer.Field("transactionId", message.transaction_id);
  writer.Field("queue", message.queue);
  writer.Field("partition", message.partition);
  writer.Field("partitionId", message.partition_id);
  writer.Field("offset", message.offset);
  writer.Field("createdAt", message.created_at);
  writer.Field("retryCount", message.retry_count);
  writer.Field("consumerGroup", message.group);
  writer.Field("leaseId", message.lease_id);
  text_or_null("traceId", message.trace_id);
  text_or_null("producerSub", message.producer);
  if (!message.headers.empty()) {
    writer.Key("headers");
    writer.BeginObject();
    for (const auto& [name, value] : message.headers) writer.Field(name, value);
    writer.EndObject();
  }
  writer.Key("data");
  writer.Raw(message.payload);
  writer.EndObject();
  return out;
}

std::string PlaceOf(const client::Message& message) {
  return message.partition + "@" + std::to_string(message.offset);
}

}  // namespace queen::cli
