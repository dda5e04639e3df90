#include "api/ack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "api/ack_item.h"
#include "api/append.h"
#include "api/authorize.h"
#include "api/names.h"
#include "api/request_trace.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using sidecar::AckItem;
using sidecar::AckOutcome;
using sidecar::AckRequest;

// An entry of the reply without its texts.
constexpr size_t kEntryBytes = 140;
// What an outcome adds to it at most: an error, and the names of a queue and a partition.
constexpr size_t kOutcomeBytesMax = 100 + 2 * kNameBytesMax;

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }

// REQUIRES: the reader is at an element of the list
AckItem ReadItem(JsonReader& reader, JsonScratch& scratch) {
  AckFields fields;
  if (reader.EnterObject()) {
    while (reader.NextField()) TakeAckField(reader, fields);
  }
  return MakeAckItem(fields, scratch);
}

// Reads the rest of the list to its end, also past an error, which is returned.
Status ReadItems(JsonReader& reader, JsonScratch& scratch, size_t items_max,
                 std::vector<AckItem>& items) {
  while (reader.NextElement()) {
    if (items.size() == items_max) {
      reader.Leave();
      return Status(Code::kPayloadTooLarge,
                    fmt::format("A call has at most {} acknowledgments", items_max));
    }
    items.push_back(ReadItem(reader, scratch));
  }
  return Status::Ok();
}

// The consumerGroup beside the list: "" when it does not say.
Result<std::string_view> TopLevelGroup(const JsonValue& value, JsonScratch& scratch) {
  if (value.absent_or_null()) return std::string_view();
  if (!value.is_string()) return Invalid("consumerGroup must be a string");
  const JsonText group = value.Text(scratch);
  QUEEN_RETURN_IF_ERROR(CheckName("consumerGroup", group));
  return group.text;
}

size_t ReplyBytesMax(const std::vector<AckItem>& items) {
  size_t bytes = 2;
  for (const AckItem& item : items) {
    bytes += kEntryBytes + kOutcomeBytesMax + item.txn.size() + item.error.size();
  }
  return bytes;
}

std::vector<PartitionId> PartitionsOf(const std::vector<AckItem>& items) {
  std::vector<PartitionId> partitions;
  for (const AckItem& item : items) {
    if (item.partition) partitions.push_back(*item.partition);
  }
  return partitions;
}

void Send(const Context& context, AckRequest ack, http::Reply reply) {
  ack.done = [reply = std::move(reply)](AckRequest& done,
                                        Result<std::vector<AckOutcome>> outcomes) mutable {
    if (!outcomes.ok()) return reply.SendError(outcomes.status());
    reply.Send(http::Response::Json(200, WriteAckReply(done.items, *outcomes)));
  };
  context.engine.Ack(std::move(ack));
}

void Handle(const Context& context, const http::Request& request, http::Reply reply,
            Result<std::vector<AckItem>> items) {
  if (!items.ok()) return reply.SendError(items.status());
  const bool all_refused = std::all_of(items->begin(), items->end(),
                                       [](const AckItem& item) { return !item.error.empty(); });
  if (all_refused) {
    return reply.SendIfRoom(
        http::Response::Json(200, WriteAckReply(*items, std::vector<AckOutcome>(items->size()))));
  }
  if (const Status room = reply.TakeRoom(ReplyBytesMax(*items)); !room.ok()) {
    return reply.SendError(room);
  }
  AckRequest ack;
  ack.items = *std::move(items);
  ack.trace = TraceOf(context, request);
  const auth::Identity& who = request.identity();
  if (who.queues.AllowAll(auth::Verb::kPop)) return Send(context, std::move(ack), std::move(reply));
  std::vector<PartitionId> partitions = PartitionsOf(ack.items);
  CheckPartitions(context, who, auth::Verb::kPop, std::move(partitions), std::move(reply),
                  [&context, ack = std::move(ack)](http::Reply granted) mutable {
                    Send(context, std::move(ack), std::move(granted));
                  });
}

}  // namespace

Result<std::vector<AckItem>> ParseAck(std::string_view body) {
  JsonReader reader(body);
  AckFields fields;
  if (reader.EnterObject()) {
    while (reader.NextField()) TakeAckField(reader, fields);
  }
  QUEEN_RETURN_IF_ERROR(reader.Finish());
  JsonScratch scratch;
  QUEEN_RETURN_IF_ERROR(CheckAckFields(fields, scratch));
  std::vector<AckItem> items;
  items.push_back(MakeAckItem(fields, scratch));
  return items;
}

Result<std::vector<AckItem>> ParseAckBatch(std::string_view body, size_t items_max) {
  JsonReader reader(body);
  JsonScratch scratch;
  std::vector<AckItem> items;
  JsonValue group_value;
  bool has_items = false;
  Status problem;
  if (reader.EnterObject()) {
    while (reader.NextField()) {
      if (reader.key() == "acknowledgments") {
        items.clear();
        has_items = reader.EnterArray();
        if (has_items) problem = ReadItems(reader, scratch, items_max, items);
      } else if (reader.key() == "consumerGroup") {
        group_value = reader.Value();
      }
    }
  }
  QUEEN_RETURN_IF_ERROR(reader.Finish());
  if (!has_items) return Invalid("acknowledgments array is required");
  QUEEN_RETURN_IF_ERROR(problem);
  const auto group = TopLevelGroup(group_value, scratch);
  if (!group.ok()) return group.status();
  if (!group->empty()) {
    for (AckItem& item : items) item.group = *group;
  }
  return items;
}

std::string WriteAckReply(const std::vector<AckItem>& items,
                          const std::vector<AckOutcome>& outcomes) {
  assert(outcomes.size() == items.size());
  std::string out;
  size_t bytes = 2;
  for (size_t i = 0; i < items.size(); ++i) {
    bytes += kEntryBytes + items[i].txn.size() + items[i].error.size() + outcomes[i].error.size() +
             outcomes[i].queue_name.size() + outcomes[i].partition_name.size();
  }
  out.reserve(bytes);
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    const AckOutcome& outcome = outcomes[i];
    const bool success = items[i].error.empty() && outcome.success;
    out += i == 0 ? "{\"index\":" : ",{\"index\":";
    AppendInt(out, static_cast<int64_t>(i));
    out += ",\"transactionId\":";
    AppendJsonString(out, items[i].txn);
    out += success ? ",\"success\":true,\"error\":null" : ",\"success\":false,\"error\":";
    if (!success) AppendJsonString(out, items[i].error.empty() ? outcome.error : items[i].error);
    out += ",\"queueName\":";
    AppendJsonString(out, outcome.queue_name);
    out += ",\"partitionName\":";
    AppendJsonString(out, outcome.partition_name);
    out += outcome.lease_released ? ",\"leaseReleased\":true" : ",\"leaseReleased\":false";
    out += outcome.dead_lettered ? ",\"dlq\":true}" : ",\"dlq\":false}";
  }
  out += ']';
  return out;
}

void HandleAck(const Context& context, const http::Request& request, http::Reply reply) {
  Handle(context, request, std::move(reply), ParseAck(request.body()));
}

void HandleAckBatch(const Context& context, const http::Request& request, http::Reply reply) {
  // Acks are much larger in memory than in a body, so those without room for their reply are not
  // even read.
  const size_t items_max =
      std::min(kAckItemsMax, reply.bytes_max() / (kEntryBytes + kOutcomeBytesMax));
  Handle(context, request, std::move(reply), ParseAckBatch(request.body(), items_max));
}

}  // namespace queen::api
