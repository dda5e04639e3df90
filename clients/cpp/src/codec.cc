#include "codec.h"

#include <algorithm>
#include <initializer_list>

#include "base/json_range.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "base/uuid.h"

namespace queen::client {
namespace {

std::string TextOf(const JsonValue& value) {
  JsonScratch scratch;
  return value.is_string() ? std::string(value.Text(scratch).text) : "";
}

int64_t NumberOf(const JsonValue& value) {
  const auto number = value.Int64();
  return number.ok() ? *number : 0;
}

bool TruthOf(const JsonValue& value) { return value.raw() == "true"; }

std::string_view WordOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompleted:
      return "completed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kDeadLetter:
      return "dlq";
    case Verdict::kRetry:
      return "retry";
  }
  return "failed";
}

void WriteAck(JsonWriter& writer, const Acknowledgment& ack) {
  writer.Field("transactionId", ack.transaction_id);
  writer.Field("partitionId", ack.partition_id);
  writer.Field("status", WordOf(ack.verdict));
  if (!ack.lease_id.empty()) writer.Field("leaseId", ack.lease_id);
  if (!ack.group.empty()) writer.Field("consumerGroup", ack.group);
  if (!ack.error.empty()) writer.Field("error", ack.error);
}

PushStatus StatusOf(std::string_view word) {
  if (word == "queued") return PushStatus::kQueued;
  if (word == "duplicate") return PushStatus::kDuplicate;
  if (word == "buffered") return PushStatus::kBuffered;
  return PushStatus::kFailed;
}

PushOutcome ReadPushOutcome(const JsonValue& entry) {
  PushOutcome outcome;
  for (const JsonField& field : JsonFields(entry)) {
    if (field.key == "status") outcome.status = StatusOf(TextOf(field.value));
    if (field.key == "transaction_id") outcome.transaction_id = TextOf(field.value);
    if (field.key == "message_id") outcome.message_id = TextOf(field.value);
    if (field.key == "partition_id") outcome.partition_id = TextOf(field.value);
    if (field.key == "error") outcome.error = TextOf(field.value);
  }
  return outcome;
}

Message ReadMessage(const JsonValue& entry) {
  Message message;
  for (const JsonField& field : JsonFields(entry)) {
    const std::string_view key = field.key;
    const JsonValue& value = field.value;
    if (key == "id") message.id = TextOf(value);
    if (key == "transactionId") message.transaction_id = TextOf(value);
    if (key == "queue") message.queue = TextOf(value);
    if (key == "partition") message.partition = TextOf(value);
    if (key == "partitionId") message.partition_id = TextOf(value);
    if (key == "leaseId") message.lease_id = TextOf(value);
    if (key == "consumerGroup") message.group = TextOf(value);
    if (key == "data") message.payload = value.raw();
    if (key == "traceId") message.trace_id = TextOf(value);
    if (key == "producerSub") message.producer = TextOf(value);
    if (key == "createdAt") message.created_at = TextOf(value);
    if (key == "retryCount") message.retry_count = NumberOf(value);
    if (key == "offset") message.offset = NumberOf(value);
    if (key != "headers") continue;
    for (const JsonField& header : JsonFields(value)) {
      message.headers.emplace(header.key, TextOf(header.value));
    }
  }
  return message;
}

bool AreUtf8(std::initializer_list<std::string_view> texts) {
  return std::ranges::all_of(texts, IsValidUtf8);
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string NewId() { return MakeUuidV7().ToString(); }

Acknowledgment Acknowledgment::Of(const Message& message, Verdict verdict, std::string error) {
  return {message.transaction_id, message.partition_id, message.lease_id, message.group, verdict,
          std::move(error)};
}

std::string ProblemOf(const NewMessage& message) {
  if (message.queue.empty()) return "the message names no queue";
  if (!AreUtf8({message.queue, message.partition, message.transaction_id, message.trace_id})) {
    return "a name of the message is not UTF-8";
  }
  for (const auto& [name, value] : message.headers) {
    if (!AreUtf8({name, value})) return "a header of the message is not UTF-8";
  }
  if (const auto payload = ParseJson(message.payload); !payload.ok()) {
    return "the payload: " + payload.status().message();
  }
  return "";
}

void AppendItem(std::string& out, const NewMessage& message) {
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("queue", message.queue);
  writer.Field("partition", message.partition);
  writer.Field("transactionId", message.transaction_id);
  if (!message.trace_id.empty()) writer.Field("traceId", message.trace_id);
  if (!message.headers.empty()) {
    writer.Key("headers");
    writer.BeginObject();
    for (const auto& [name, value] : message.headers) writer.Field(name, value);
    writer.EndObject();
  }
  writer.Key("payload");
  writer.Raw(message.payload);
  writer.EndObject();
}

std::string EncodePush(const std::vector<NewMessage>& messages) {
  std::string out = R"({"items":[)";
  for (const NewMessage& message : messages) {
    if (out.back() != '[') out += ',';
    AppendItem(out, message);
  }
  return out += "]}";
}

std::string EncodeAcks(const std::vector<Acknowledgment>& acks) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("acknowledgments");
  writer.BeginArray();
  for (const Acknowledgment& ack : acks) {
    writer.BeginObject();
    WriteAck(writer, ack);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return out;
}

std::string EncodeTransaction(const Transaction& transaction) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("operations");
  writer.BeginArray();
  for (const NewMessage& message : transaction.pushes()) {
    std::string item;
    AppendItem(item, message);
    writer.Raw(R"({"type":"push","items":[)" + item + "]}");
  }
  for (const Acknowledgment& ack : transaction.acks()) {
    writer.BeginObject();
    writer.Field("type", "ack");
    WriteAck(writer, ack);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return out;
}

std::optional<std::vector<PushOutcome>> DecodePush(std::string_view body, size_t count) {
  const auto root = ParseJson(body);
  if (!root.ok() || !root->is_array()) return std::nullopt;
  std::vector<PushOutcome> outcomes;
  for (const JsonValue& entry : JsonElements(*root)) outcomes.push_back(ReadPushOutcome(entry));
  if (outcomes.size() != count) return std::nullopt;
  return outcomes;
}

std::optional<std::vector<AckOutcome>> DecodeAcks(std::string_view body, size_t count) {
  const auto root = ParseJson(body);
  if (!root.ok() || !root->is_array()) return std::nullopt;
  std::vector<AckOutcome> outcomes;
  for (const JsonValue& entry : JsonElements(*root)) {
    outcomes.push_back({TextOf(entry.Find("transactionId")), TruthOf(entry.Find("success")),
                        TruthOf(entry.Find("dlq")), TextOf(entry.Find("error"))});
  }
  if (outcomes.size() != count) return std::nullopt;
  return outcomes;
}

std::optional<std::vector<Message>> DecodePop(std::string_view body) {
  const auto root = ParseJson(body);
  if (!root.ok() || !root->Find("messages").is_array()) return std::nullopt;
  std::vector<Message> messages;
  for (const JsonValue& entry : JsonElements(root->Find("messages"))) {
    messages.push_back(ReadMessage(entry));
  }
  return messages;
}

std::optional<TransactionReply> DecodeTransaction(std::string_view body) {
  const auto root = ParseJson(body);
  if (!root.ok() || !root->is_object()) return std::nullopt;
  TransactionReply reply{TruthOf(root->Find("success")), TextOf(root->Find("error")), {}};
  for (const JsonValue& entry : JsonElements(root->Find("results"))) {
    if (TextOf(entry.Find("type")) != "push") continue;
    reply.pushes.push_back({PushStatus::kQueued, TextOf(entry.Find("transactionId")),
                            TextOf(entry.Find("messageId")), TextOf(entry.Find("partitionId")),
                            ""});
  }
  return reply;
}

std::string TextField(std::string_view object, std::string_view key) {
  const auto root = ParseJson(object);
  return root.ok() ? TextOf(root->Find(key)) : "";
}

}  // namespace queen::client
