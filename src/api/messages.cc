#include "api/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "api/message_meta.h"
#include "api/names.h"
#include "api/payload_cut.h"
#include "api/query_params.h"
#include "api/report.h"
#include "storage/reports.h"

namespace queen::api {
namespace {

using admin::MessageName;
using admin::Redriven;
using admin::StoredMessage;

constexpr std::string_view kMissing = "Message not found";
constexpr std::string_view kQueueMode = "__QUEUE_MODE__";
constexpr std::string_view kByHand = "dead-lettered by an operator";
constexpr std::array<std::string_view, 4> kStatuses = {"pending", "processing", "completed",
                                                       "dead_letter"};

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }

// kNotFound also where the path names no partition of ours, or what no transactionId can be:
// nothing can be there. A line end in it would be two names to the search for it.
Result<MessageName> NameOf(const http::Request& request) {
  const std::optional<Uuid> uuid = Uuid::Parse(request.Param("partitionId"));
  const std::optional<PartitionId> partition = uuid ? DecodePartitionId(*uuid) : std::nullopt;
  const std::string_view txn = request.Param("transactionId");
  if (!partition || !CheckTransactionId(JsonText{.text = txn}).ok()) {
    return Status(Code::kNotFound, std::string(kMissing));
  }
  return MessageName{*partition, std::string(txn)};
}

Status WithText(const Status& status, std::string_view missing) {
  return status.code() == Code::kNotFound ? Status(Code::kNotFound, std::string(missing)) : status;
}

// consumerGroup and error: of the body, else of the query; "" is as good as none.
Status TakeChoice(const http::Request& request, std::string_view field,
                  std::optional<std::string>& out) {
  const Result<JsonValue> body = ParseOptionalBody(request.body());
  if (!body.ok()) return body.status();
  auto said = OptionalName(field, body->Find(field));
  if (!said.ok()) return said.status();
  QUEEN_RETURN_IF_ERROR(TakeName(request.query(), field, out));
  if (*said && !(*said)->empty()) out = *std::move(said);
  return Status::Ok();
}

// An open object: the fields that every change of one message is answered with.
void BeginReply(JsonWriter& writer, const MessageName& name) {
  writer.BeginObject();
  writer.Field("success", true);
  writer.Field("partitionId", EncodePartitionId(name.partition).ToString());
  writer.Field("transactionId", name.txn);
}

std::string WriteChange(const MessageName& name, std::string_view message) {
  std::string out;
  JsonWriter writer(out);
  BeginReply(writer, name);
  writer.Field("message", message);
  writer.EndObject();
  return out;
}

std::string WriteRedriven(const MessageName& name, const std::vector<Redriven>& redriven) {
  std::string out;
  JsonWriter writer(out);
  BeginReply(writer, name);
  writer.Field("message", "Message pushed again");
  writer.Key("redriven");
  writer.BeginArray();
  for (const Redriven& one : redriven) {
    writer.BeginObject();
    writer.Field("consumerGroup", one.group);
    writer.Field("messageId", one.id.ToString());
    writer.Field("transactionId", one.id.ToString());
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return out;
}

struct ListFilter {
  std::optional<std::string> queue, partition, namespace_name, task, status;
  std::optional<int64_t> from_micros, to_micros;
  int64_t limit = 0;
  int64_t offset = 0;
};

Result<ListFilter> ParseList(const http::Query& query) {
  ListFilter filter;
  QUEEN_RETURN_IF_ERROR(TakeName(query, "queue", filter.queue));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "partition", filter.partition));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "ns", filter.namespace_name));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "task", filter.task));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "status", filter.status));
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "from", filter.from_micros));
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "to", filter.to_micros));
  if (filter.status &&
      std::find(kStatuses.begin(), kStatuses.end(), *filter.status) == kStatuses.end()) {
    return Invalid("status must be pending, processing, completed or dead_letter");
  }
  const Result<int64_t> limit = query.Int("limit", kMessagesLimitDefault);
  if (!limit.ok()) return limit.status();
  filter.limit = std::clamp<int64_t>(*limit, 1, kPageLimitMax);
  const Result<int64_t> offset = query.Int("offset", 0, 0, INT32_MAX);
  if (!offset.ok()) return offset.status();
  filter.offset = *offset;
  if (filter.offset + filter.limit > kMessagesReach) {
    return Invalid(
        fmt::format("offset reaches back at most {} messages: name an earlier time in "
                    "`to`, or the partition",
                    kMessagesReach));
  }
  return filter;
}

}  // namespace

std::string WriteMessage(const StoredMessage& message, PartitionId partition,
                         const storage::PayloadCipher& cipher, std::optional<int64_t> payload_max) {
  const MessageMeta meta = ReadMessageMeta(message.meta);
  std::string out = message.document;
  out.back() = ',';  // instead of the closing brace
  std::string error;
  JsonWriter members(out);
  if (meta.encrypted) {
    const Result<std::string> payload = cipher.Decrypt(message.payload, partition);
    WritePayload(members, "payload", payload.ok() ? *payload : message.payload, payload_max);
    if (!payload.ok()) error = payload.status().message();
  } else {
    WritePayload(members, "payload", message.payload, payload_max);
  }
  out += meta.encrypted ? ",\"isEncrypted\":true" : ",\"isEncrypted\":false";
  if (!meta.headers.empty()) {
    out += ",\"headers\":";
    out += meta.headers;
  }
  if (!error.empty()) {
    out += ",\"error\":";
    JsonWriter writer(out);
    writer.String(error);
  }
  out += '}';
  return out;
}

void HandleListMessages(const Context& context, const http::Request& request, http::Reply reply) {
  Result<ListFilter> filter = ParseList(request.query());
  if (!filter.ok()) return reply.SendError(filter.status());
  if (const std::string_view queue = request.Param("queue"); !queue.empty()) {
    const Status checked = CheckParams(request, {"queue"});
    if (!checked.ok()) return reply.SendError(checked);
    filter->queue = queue;
  }
  pg::Params params(9);
  params.TextOrNull(filter->queue);
  params.TextOrNull(filter->partition);
  params.TextOrNull(filter->namespace_name);
  params.TextOrNull(filter->task);
  params.TextOrNull(filter->status);
  params.TimestampTzOrNull(filter->from_micros);
  params.TimestampTzOrNull(filter->to_micros);
  params.Int4(static_cast<int32_t>(filter->limit)).Int4(static_cast<int32_t>(filter->offset));
  SendReport(context, storage::kReportMessages, std::move(params), std::move(reply));
}

void HandleGetMessage(const Context& context, const http::Request& request, http::Reply reply) {
  const Result<MessageName> name = NameOf(request);
  if (!name.ok()) return reply.SendError(name.status());
  const auto payload_max = ParsePayloadMax(request.query());
  if (!payload_max.ok()) return reply.SendError(payload_max.status());
  context.admin.FindMessage(
      *name, [&context, partition = name->partition, payload_max = *payload_max,
              reply = std::move(reply)](Result<StoredMessage> message) mutable {
        if (!message.ok()) return reply.SendError(WithText(message.status(), kMissing));
        reply.SendPage(http::Response::Json(
            200, WriteMessage(*message, partition, context.cipher, payload_max)));
      });
}

void HandleDeleteMessage(const Context& context, const http::Request& request, http::Reply reply) {
  const Result<MessageName> name = NameOf(request);
  if (!name.ok()) return reply.SendError(name.status());
  context.admin.DeleteMessage(
      *name, [&context, name = *name, reply = std::move(reply)](Result<std::string> queue) mutable {
        if (!queue.ok()) return reply.SendError(WithText(queue.status(), kMissing));
        context.engine.QueueChanged(*queue);
        reply.Send(http::Response::Json(200, WriteChange(name, "Message deleted")));
      });
}

void HandleRetryMessage(const Context& context, const http::Request& request, http::Reply reply) {
  const Result<MessageName> name = NameOf(request);
  if (!name.ok()) return reply.SendError(name.status());
  std::optional<std::string> group;
  const Status status = TakeChoice(request, "consumerGroup", group);
  if (!status.ok()) return reply.SendError(status);
  context.admin.RedriveMessage(
      *name, std::move(group),
      [&context, name = *name,
       reply = std::move(reply)](Result<std::vector<Redriven>> redriven) mutable {
        if (!redriven.ok()) return reply.SendError(redriven.status());
        if (redriven->empty()) {
          return reply.SendError(
              Status(Code::kNotFound, "The message is not among the dead letters"));
        }
        context.engine.QueueChanged(redriven->front().queue);
        reply.Send(http::Response::Json(200, WriteRedriven(name, *redriven)));
      });
}

void HandleDeadLetterMessage(const Context& context, const http::Request& request,
                             http::Reply reply) {
  const Result<MessageName> name = NameOf(request);
  if (!name.ok()) return reply.SendError(name.status());
  std::optional<std::string> group;
  std::optional<std::string> error;
  Status status = TakeChoice(request, "consumerGroup", group);
  if (status.ok()) status = TakeChoice(request, "error", error);
  if (!status.ok()) return reply.SendError(status);
  context.admin.DeadLetterMessage(
      *name, group.value_or(std::string(kQueueMode)), error.value_or(std::string(kByHand)),
      [&context, name = *name, reply = std::move(reply)](Result<std::string> queue) mutable {
        if (!queue.ok()) return reply.SendError(WithText(queue.status(), kMissing));
        context.engine.QueueChanged(*queue);
        reply.Send(http::Response::Json(200, WriteChange(name, "Message dead-lettered")));
      });
}

}  // namespace queen::api
