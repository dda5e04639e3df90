#include "bench/replies.h"

#include <fmt/format.h>

#include "base/json_reader.h"

namespace queen::bench {
namespace {

Status Malformed(std::string_view what) {
  return Status(Code::kInternal, fmt::format("a reply that is not understood: {}", what));
}

// The error of an item, or `otherwise` when it has none.
std::string ErrorText(const JsonValue& error, const JsonValue& otherwise) {
  const JsonValue& value = error.absent_or_null() ? otherwise : error;
  if (value.absent()) return "no status";
  JsonScratch scratch;
  return value.is_string() ? std::string(value.Text(scratch).text) : std::string(value.raw());
}

void CountPushItem(JsonReader& reader, PushOutcome& outcome) {
  JsonValue status;
  JsonValue error;
  while (reader.NextField()) {
    if (reader.key() == "status") status = reader.Value();
    if (reader.key() == "error") error = reader.Value();
  }
  if (status.raw() == R"("queued")") {
    ++outcome.queued;
  } else if (status.raw() == R"("duplicate")") {
    ++outcome.duplicate;
  } else if (status.raw() == R"("buffered")") {
    ++outcome.buffered;
  } else if (++outcome.failed == 1) {
    outcome.first_error = ErrorText(error, status);
  }
}

Delivered ReadMessage(JsonReader& reader) {
  Delivered message;
  while (reader.NextField()) {
    const std::string_view key = reader.key();
    if (key == "transactionId") {
      message.transaction_id = reader.Value().raw();
    } else if (key == "data") {
      message.payload = reader.Value().raw();
    } else if (key == "partitionId") {
      message.partition_id = reader.Value().raw();
    } else if (key == "leaseId") {
      message.lease_id = reader.Value().raw();
    }
  }
  return message;
}

void CountAck(JsonReader& reader, AckOutcome& outcome) {
  JsonValue success;
  JsonValue error;
  while (reader.NextField()) {
    if (reader.key() == "success") success = reader.Value();
    if (reader.key() == "error") error = reader.Value();
  }
  if (success.raw() == "true") {
    ++outcome.succeeded;
  } else if (++outcome.failed == 1) {
    outcome.first_error = ErrorText(error, success);
  }
}

}  // namespace

Result<PushOutcome> ReadPushReply(std::string_view body) {
  JsonReader reader(body);
  PushOutcome outcome;
  if (!reader.EnterArray()) return Malformed("a push is answered with an array");
  while (reader.NextElement()) {
    if (!reader.EnterObject()) return Malformed("an item of a push is answered with an object");
    CountPushItem(reader, outcome);
  }
  if (const Status finished = reader.Finish(); !finished.ok()) return Malformed(finished.message());
  return outcome;
}

Status ReadPopReply(std::string_view body, std::vector<Delivered>& messages) {
  messages.clear();
  JsonReader reader(body);
  if (!reader.EnterObject()) return Malformed("a pop is answered with an object");
  Delivered top;
  while (reader.NextField()) {
    const std::string_view key = reader.key();
    if (key == "partitionId") {
      top.partition_id = reader.Value().raw();
    } else if (key == "leaseId") {
      top.lease_id = reader.Value().raw();
    } else if (key == "messages") {
      if (!reader.EnterArray()) return Malformed("messages is no array");
      while (reader.NextElement()) {
        if (!reader.EnterObject()) return Malformed("a message is no object");
        messages.push_back(ReadMessage(reader));
      }
    }
  }
  if (const Status finished = reader.Finish(); !finished.ok()) return Malformed(finished.message());
  for (Delivered& message : messages) {
    if (message.partition_id.empty()) message.partition_id = top.partition_id;
    if (message.lease_id.empty()) message.lease_id = top.lease_id;
    if (message.transaction_id.empty() || message.partition_id.empty()) {
      return Malformed("a message without transactionId or partitionId");
    }
  }
  return Status::Ok();
}

Result<AckOutcome> ReadAckReply(std::string_view body) {
  JsonReader reader(body);
  AckOutcome outcome;
  if (!reader.EnterArray()) return Malformed("an ack is answered with an array");
  while (reader.NextElement()) {
    if (!reader.EnterObject()) return Malformed("an ack is answered with objects");
    CountAck(reader, outcome);
  }
  if (const Status finished = reader.Finish(); !finished.ok()) return Malformed(finished.message());
  return outcome;
}

void WriteAckBody(const std::vector<Delivered>& messages, std::string_view group,
                  std::string& body) {
  body.assign(1, '{');
  if (!group.empty()) body.append(R"("consumerGroup":)").append(group).append(",");
  body += R"("acknowledgments":[)";
  const char* separator = "";
  for (const Delivered& message : messages) {
    body.append(separator).append(R"({"transactionId":)").append(message.transaction_id);
    body.append(R"(,"partitionId":)").append(message.partition_id);
    if (!message.lease_id.empty()) body.append(R"(,"leaseId":)").append(message.lease_id);
    body += R"(,"status":"completed"})";
    separator = ",";
  }
  body += "]}";
}

}  // namespace queen::bench
