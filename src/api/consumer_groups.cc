#include "api/consumer_groups.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/query_params.h"
#include "api/timestamp.h"
#include "base/clock.h"
#include "base/json_reader.h"

namespace queen::api {
namespace {

using admin::DeleteGroupRequest;
using admin::SeekRequest;

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }

std::string WriteSeekReply(const SeekRequest& seek, int64_t moved) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("success", true);
  writer.Field("consumerGroup", seek.group);
  writer.Field("queueName", seek.queue);
  writer.Field("seekToEnd", seek.mode == SeekRequest::Mode::kEnd);
  std::optional<std::string> target;
  if (seek.mode == SeekRequest::Mode::kAfter) target = FormatTimestamp(seek.time_micros);
  WriteOptional(writer, "targetTimestamp", target);
  writer.Field("partitionsUpdated", moved);
  writer.EndObject();
  return out;
}

std::string WriteSubscriptionReply(const std::string& group, int64_t micros, int64_t updated) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("success", true);
  writer.Field("consumerGroup", group);
  writer.Field("newTimestamp", FormatTimestamp(micros));
  writer.Field("rowsUpdated", updated);
  writer.EndObject();
  return out;
}

Result<int64_t> ParseSubscriptionTime(std::string_view body) {
  const Result<JsonValue> value = ParseJson(body);
  if (!value.ok()) return value.status();
  const JsonValue time = value->Find("subscriptionTimestamp");
  if (time.absent_or_null()) return Invalid("subscriptionTimestamp is required");
  JsonScratch scratch;
  std::optional<int64_t> micros;
  if (time.is_string()) micros = ParseTimestamp(time.Text(scratch).text);
  if (!micros) return Invalid("subscriptionTimestamp must be an RFC 3339 time or a date");
  return *micros;
}

std::string WriteDeleteReply(const DeleteGroupRequest& request, int64_t partitions) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("success", true);
  writer.Field("consumerGroup", request.group);
  writer.Field("deletedPartitions", partitions);
  writer.Field("metadataDeleted", request.metadata);
  writer.EndObject();
  return out;
}

Status TakeTimestamp(const JsonValue& value, SeekRequest& request) {
  JsonScratch scratch;
  std::optional<int64_t> micros;
  if (value.is_string()) micros = ParseTimestamp(value.Text(scratch).text);
  if (!micros) return Invalid("timestamp must be an RFC 3339 time or a date");
  request.mode = SeekRequest::Mode::kAfter;
  request.time_micros = *micros;
  return Status::Ok();
}

Status TakeOffset(const JsonValue& value, SeekRequest& request) {
  const Result<int64_t> offset = value.Int64();
  if (!offset.ok()) return Invalid("offset " + offset.status().message());
  if (*offset < 0) return Invalid("offset must not be negative");
  request.mode = SeekRequest::Mode::kOffset;
  request.offset = *offset;
  return Status::Ok();
}

}  // namespace

Status ParseSeek(std::string_view body, SeekRequest& request) {
  const Result<JsonValue> value = ParseOptionalBody(body);
  if (!value.ok()) return value.status();
  const JsonValue to_end = value->Find("toEnd");
  const JsonValue timestamp = value->Find("timestamp");
  const JsonValue offset = value->Find("offset");
  bool end = false;
  if (!to_end.absent_or_null()) {
    const Result<bool> said = to_end.Bool();
    if (!said.ok()) return Invalid("toEnd " + said.status().message());
    end = *said;
  }
  const int wishes =
      (end ? 1 : 0) + (timestamp.absent_or_null() ? 0 : 1) + (offset.absent_or_null() ? 0 : 1);
  if (wishes > 1) return Invalid("Only one of toEnd, timestamp and offset can be given");
  const bool nothing_said = to_end.absent_or_null() && wishes == 0;
  if (wishes == 0 && !(nothing_said && request.partition)) {
    return Invalid("toEnd, timestamp or offset is required");
  }
  if (!timestamp.absent_or_null()) return TakeTimestamp(timestamp, request);
  if (!offset.absent_or_null()) return TakeOffset(offset, request);
  request.mode = SeekRequest::Mode::kEnd;
  return Status::Ok();
}

void HandleSeek(const Context& context, const http::Request& request, http::Reply reply) {
  SeekRequest seek;
  seek.group = request.Param("group");
  seek.queue = request.Param("queue");
  if (!request.Param("partition").empty()) seek.partition = request.Param("partition");
  Status status = CheckParams(request, {"group", "queue", "partition"});
  if (status.ok()) status = ParseSeek(request.body(), seek);
  if (!status.ok()) return reply.SendError(status);
  context.admin.Seek(seek,
                     [&context, seek, reply = std::move(reply)](Result<int64_t> moved) mutable {
                       // Also after a failure: some partitions may have moved.
                       context.engine.QueueChanged(seek.queue);
                       if (!moved.ok()) return reply.SendError(moved.status());
                       reply.Send(http::Response::Json(200, WriteSeekReply(seek, *moved)));
                     });
}

void HandleDeleteGroup(const Context& context, const http::Request& request, http::Reply reply) {
  if (const Status status = CheckParams(request, {"group", "queue"}); !status.ok()) {
    return reply.SendError(status);
  }
  DeleteGroupRequest deletion;
  deletion.group = request.Param("group");
  if (!request.Param("queue").empty()) deletion.queue = request.Param("queue");
  const Result<bool> metadata = request.query().Bool("deleteMetadata", true);
  if (!metadata.ok()) return reply.SendError(metadata.status());
  deletion.metadata = *metadata;
  context.admin.DeleteGroup(
      deletion, [&context, deletion, reply = std::move(reply)](Result<int64_t> partitions) mutable {
        context.engine.QueueChanged(deletion.queue);
        if (!partitions.ok()) return reply.SendError(partitions.status());
        reply.Send(http::Response::Json(200, WriteDeleteReply(deletion, *partitions)));
      });
}

void HandleSetSubscription(const Context& context, const http::Request& request,
                           http::Reply reply) {
  if (const Status status = CheckParams(request, {"group"}); !status.ok()) {
    return reply.SendError(status);
  }
  const Result<int64_t> micros = ParseSubscriptionTime(request.body());
  if (!micros.ok()) return reply.SendError(micros.status());
  std::string group(request.Param("group"));
  context.admin.SetSubscription(
      group, *micros,
      [&context, group, micros = *micros,
       reply = std::move(reply)](Result<int64_t> updated) mutable {
        context.engine.QueueChanged(std::nullopt);
        if (!updated.ok()) return reply.SendError(updated.status());
        reply.Send(http::Response::Json(200, WriteSubscriptionReply(group, micros, *updated)));
      });
}

}  // namespace queen::api
