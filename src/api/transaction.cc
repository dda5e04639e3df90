#include "api/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "api/ack.h"
#include "api/ack_item.h"
#include "api/append.h"
#include "api/authorize.h"
#include "api/request_trace.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using sidecar::PushItem;
using sidecar::TransactionAck;
using sidecar::TransactionRequest;
using sidecar::TransactionResult;
using Kind = Transaction::Kind;

// A result without its texts, ids of 36 characters included.
constexpr size_t kEntryBytes = 220;
constexpr size_t kTypeInErrorBytesMax = 255;

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }

std::string AckFailed(std::string_view why) { return fmt::format("ACK operation failed: {}", why); }

// The fields of an operation stand in any order, so all are read before its type is looked at.
struct Operation {
  JsonValue type;
  AckFields ack;
  bool has_items = false;
  std::vector<PushItem> items;
  Status items_problem;
};

Operation ReadOperation(JsonReader& reader, const Producer& producer, JsonScratch& scratch) {
  Operation operation;
  if (!reader.EnterObject()) return operation;
  while (reader.NextField()) {
    if (reader.key() == "type") {
      operation.type = reader.Value();
    } else if (reader.key() == "items") {
      operation.items.clear();
      operation.items_problem = {};
      operation.has_items = reader.EnterArray();
      if (operation.has_items) {
        operation.items_problem = ReadPushItems(reader, producer, scratch, operation.items);
      }
    } else {
      TakeAckField(reader, operation.ack);
    }
  }
  return operation;
}

bool SaysNothing(const JsonValue& value, JsonScratch& scratch) {
  return value.absent_or_null() || (value.is_string() && value.Text(scratch).text.empty());
}

// The first reason counts.
void Refuse(Transaction& transaction, std::string why) {
  if (transaction.refusal.empty()) transaction.refusal = std::move(why);
}

Status AddPush(Operation operation, Transaction& transaction) {
  if (!operation.has_items) return Invalid("items array is required");
  QUEEN_RETURN_IF_ERROR(operation.items_problem);
  std::vector<PushItem>& pushes = transaction.request.pushes;
  if (pushes.size() + operation.items.size() > kPushItemsMax) {
    return Status(Code::kPayloadTooLarge,
                  fmt::format("A transaction pushes at most {} items", kPushItemsMax));
  }
  for (PushItem& item : operation.items) {
    if (!item.error.empty()) Refuse(transaction, item.error);
    transaction.order.push_back(Kind::kPush);
    pushes.push_back(std::move(item));
  }
  return Status::Ok();
}

Status AddAck(const Operation& operation, Transaction& transaction) {
  std::vector<TransactionAck>& acks = transaction.request.acks;
  if (acks.size() == kAckItemsMax) {
    return Status(Code::kPayloadTooLarge,
                  fmt::format("A transaction has at most {} acknowledgments", kAckItemsMax));
  }
  QUEEN_RETURN_IF_ERROR(CheckAckFields(operation.ack, transaction.request.scratch));
  TransactionAck& ack = acks.emplace_back();
  ack.item = MakeAckItem(operation.ack, transaction.request.scratch);
  ack.group_of_lease = SaysNothing(operation.ack.group, transaction.request.scratch);
  if (!ack.item.error.empty()) Refuse(transaction, AckFailed(ack.item.error));
  transaction.order.push_back(Kind::kAck);
  return Status::Ok();
}

Status AddOperation(Operation operation, Transaction& transaction) {
  std::string_view type;
  if (operation.type.is_string()) {
    type = operation.type.Text(transaction.request.scratch).text;
  } else if (!operation.type.absent()) {
    type = operation.type.raw();
  }
  if (type == "push") return AddPush(std::move(operation), transaction);
  if (type == "ack") return AddAck(operation, transaction);
  Refuse(transaction,
         fmt::format("Unknown operation type: {}", type.substr(0, kTypeInErrorBytesMax)));
  return Status::Ok();
}

// REQUIRES: the reader has entered the list
Status ReadRequiredLeases(JsonReader& reader, TransactionRequest& request) {
  Status problem;
  while (reader.NextElement()) {
    const JsonValue value = reader.Value();
    if (SaysNothing(value, request.scratch)) continue;
    if (!value.is_string()) {
      problem = Invalid("requiredLeases must be an array of strings");
      continue;
    }
    // What is no UUID is a lease that nobody holds, and so is the nil UUID.
    request.required_leases.push_back(
        Uuid::Parse(value.Text(request.scratch).text).value_or(Uuid{}));
  }
  return problem;
}

// Where neither a group nor a lease is named, the ack is one of queue mode, as everywhere.
void NameGroups(TransactionRequest& request) {
  if (!request.required_leases.empty()) return;
  for (TransactionAck& ack : request.acks) {
    if (!ack.item.lease_id) ack.group_of_lease = false;
  }
}

std::string WriteRefusal(const Uuid& id, std::string_view why) {
  std::string out = "{\"transactionId\":\"";
  AppendUuid(out, id);
  out += "\",\"success\":false,\"error\":";
  AppendJsonString(out, why);
  out += ",\"results\":[]}";
  return out;
}

std::string RefusalText(const TransactionResult& result) {
  switch (result.refusal.code()) {
    case Code::kMessageNotFound:
    case Code::kInvalidLease:
    case Code::kMessageSettled:
      return AckFailed(InfoOf(result.refusal.code()).text);
    case Code::kDuplicateTransactionId:
      return "Duplicate transactionId: " + result.reason;
    default:
      return result.refusal.message();
  }
}

void AppendPushed(std::string& out, const PushItem& item, const MessageId& id) {
  const Uuid message_id = EncodeMessageId(id);
  out += ",\"type\":\"push\",\"success\":true,\"transactionId\":";
  if (item.txn.empty()) {
    out += '"';
    AppendUuid(out, message_id);
    out += '"';
  } else {
    AppendJsonString(out, item.txn);
  }
  out += ",\"messageId\":\"";
  AppendUuid(out, message_id);
  out += "\",\"partitionId\":\"";
  AppendUuid(out, EncodePartitionId(id.partition));
  out += "\",\"queueName\":";
  AppendJsonString(out, item.queue);
  out += '}';
}

void AppendAcked(std::string& out, const TransactionAck& ack, bool dead_lettered) {
  out += ",\"type\":\"ack\",\"success\":true,\"transactionId\":";
  AppendJsonString(out, ack.item.txn);
  out += dead_lettered ? ",\"error\":null,\"dlq\":true}" : ",\"error\":null,\"dlq\":false}";
}

std::vector<PartitionId> PartitionsAcked(const TransactionRequest& request) {
  std::vector<PartitionId> partitions;
  for (const TransactionAck& ack : request.acks) {
    if (ack.item.partition) partitions.push_back(*ack.item.partition);
  }
  return partitions;
}

size_t ReplyBytes(const TransactionRequest& request) {
  size_t bytes = kEntryBytes;
  for (const PushItem& item : request.pushes) {
    bytes += kEntryBytes + item.queue.size() + item.txn.size();
  }
  for (const TransactionAck& ack : request.acks) bytes += kEntryBytes + ack.item.txn.size();
  return bytes;
}

}  // namespace

Status ParseTransaction(const Producer& producer, Transaction& transaction) {
  TransactionRequest& request = transaction.request;
  JsonReader reader(request.body);
  bool has_operations = false;
  size_t operations = 0;
  Status problem;
  Status leases_problem;
  if (reader.EnterObject()) {
    while (reader.NextField()) {
      if (reader.key() == "operations") {
        request.pushes.clear();
        request.acks.clear();
        transaction.order.clear();
        transaction.refusal.clear();
        operations = 0;
        problem = {};
        has_operations = reader.EnterArray();
        while (has_operations && reader.NextElement()) {
          Operation operation = ReadOperation(reader, producer, request.scratch);
          ++operations;
          if (problem.ok()) problem = AddOperation(std::move(operation), transaction);
        }
      } else if (reader.key() == "requiredLeases") {
        request.required_leases.clear();
        leases_problem = {};
        if (reader.EnterArray()) {
          leases_problem = ReadRequiredLeases(reader, request);
        } else if (!reader.Value().absent_or_null()) {
          leases_problem = Invalid("requiredLeases must be an array of strings");
        }
      }
    }
  }
  QUEEN_RETURN_IF_ERROR(reader.Finish());
  if (!has_operations) return Invalid("operations array required");
  if (operations == 0) return Invalid("operations array cannot be empty");
  QUEEN_RETURN_IF_ERROR(problem);
  QUEEN_RETURN_IF_ERROR(leases_problem);
  NameGroups(request);
  return Status::Ok();
}

std::string WriteTransactionReply(const Uuid& id, const TransactionRequest& request,
                                  const std::vector<Kind>& order, const TransactionResult& result) {
  if (!result.refusal.ok()) return WriteRefusal(id, RefusalText(result));
  assert(result.pushed.size() == request.pushes.size());
  assert(result.dead_lettered.size() == request.acks.size());
  std::string out;
  out.reserve(ReplyBytes(request));
  out += "{\"transactionId\":\"";
  AppendUuid(out, id);
  out += "\",\"success\":true,\"results\":[";
  size_t push = 0;
  size_t ack = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    out += i == 0 ? "{\"index\":" : ",{\"index\":";
    AppendInt(out, static_cast<int64_t>(i));
    if (order[i] == Kind::kPush) {
      AppendPushed(out, request.pushes[push], result.pushed[push]);
      ++push;
    } else {
      AppendAcked(out, request.acks[ack], result.dead_lettered[ack]);
      ++ack;
    }
  }
  out += "]}";
  return out;
}

namespace {

void Execute(const Context& context, const Uuid& id, Transaction transaction, http::Reply reply) {
  transaction.request.done = [id, order = std::move(transaction.order), reply = std::move(reply)](
                                 TransactionRequest& done,
                                 Result<TransactionResult> result) mutable {
    if (!result.ok()) return reply.SendError(result.status());
    reply.Send(http::Response::Json(200, WriteTransactionReply(id, done, order, *result)));
  };
  // The items stay valid: a body that has any is too long for the string's own buffer.
  context.engine.Transaction(std::move(transaction.request));
}

}  // namespace

void HandleTransaction(const Context& context, http::Request& request, http::Reply reply) {
  Transaction transaction;
  transaction.request.body = request.TakeBody();
  transaction.request.trace = TraceOf(context, request);
  const std::string trace_headers = TraceHeaders(transaction.request.trace, request);
  if (const Status status =
          ParseTransaction({request.identity().subject, trace_headers}, transaction);
      !status.ok()) {
    return reply.SendError(status);
  }
  const Status granted = CheckPushes(request.identity(), transaction.request.pushes);
  if (!granted.ok()) return reply.SendError(granted);
  const Uuid id = MakeUuidV7();
  if (!transaction.refusal.empty()) {
    return reply.Send(http::Response::Json(200, WriteRefusal(id, transaction.refusal)));
  }
  if (transaction.order.empty()) {  // pushes of no items
    return reply.Send(
        http::Response::Json(200, WriteTransactionReply(id, transaction.request, {}, {})));
  }
  const Status room = reply.TakeRoom(ReplyBytes(transaction.request));
  if (!room.ok()) return reply.SendError(room);
  std::vector<PartitionId> partitions = PartitionsAcked(transaction.request);
  CheckPartitions(context, request.identity(), auth::Verb::kPop, std::move(partitions),
                  std::move(reply),
                  [&context, id, transaction = std::move(transaction)](http::Reply free) mutable {
                    Execute(context, id, std::move(transaction), std::move(free));
                  });
}

}  // namespace queen::api
