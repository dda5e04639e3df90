#include "api/push.h"

#include <algorithm>
#include <cassert>

#include "api/append.h"
#include "api/authorize.h"
#include "api/message_meta.h"
#include "api/request_trace.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using sidecar::PushItem;
using sidecar::PushOutcome;
using sidecar::PushRequest;

// An entry of the reply without its names, ids of 36 characters included.
constexpr size_t kEntryBytes = 260;

// `otherwise` is that of a message which came without one.
void AppendTransactionId(std::string& out, const PushItem& item, const Uuid& otherwise) {
  out += ",\"transaction_id\":";
  if (!item.txn.empty()) return AppendJsonString(out, item.txn);
  out += '"';
  AppendUuid(out, otherwise);
  out += '"';
}

void AppendBuffered(std::string& out, const PushItem& item, const PushOutcome& outcome) {
  AppendTransactionId(out, item, outcome.made_txn);
  out += ",\"status\":\"buffered\",\"queue\":";
  AppendJsonString(out, item.queue);
  out += ",\"partition\":";
  AppendJsonString(out, item.partition);
}

void AppendFailed(std::string& out, std::string_view error) {
  out += ",\"status\":\"failed\",\"error\":";
  AppendJsonString(out, error);
}

void AppendStored(std::string& out, const PushItem& item, const PushOutcome& outcome) {
  const Uuid message_id = EncodeMessageId(outcome.id);
  AppendTransactionId(out, item, message_id);
  const bool queued = outcome.status == PushOutcome::Status::kQueued;
  out += queued ? ",\"status\":\"queued\",\"message_id\":\""
                : ",\"status\":\"duplicate\",\"message_id\":\"";
  AppendUuid(out, message_id);
  if (queued) {
    out += "\",\"partition_id\":\"";
    AppendUuid(out, EncodePartitionId(outcome.id.partition));
    const std::string_view trace_id = ReadMessageMeta(item.meta).trace_id;
    out.append("\",\"trace_id\":").append(trace_id.empty() ? "null" : trace_id);
  } else {
    out += '"';
  }
  out += ",\"queueName\":";
  AppendJsonString(out, item.queue);
}

}  // namespace

size_t PushReplyBytes(const std::vector<PushItem>& items) {
  size_t bytes = 2;
  for (const PushItem& item : items) {
    bytes += kEntryBytes + item.queue.size() + item.txn.size() + item.error.size();
  }
  return bytes;
}

Status ParsePush(const Producer& producer, PushRequest& push) {
  JsonReader reader(push.body);
  bool has_items = false;
  Status problem;
  if (reader.EnterObject()) {
    while (reader.NextField()) {
      if (reader.key() != "items") continue;
      push.items.clear();
      has_items = reader.EnterArray();
      if (has_items) problem = ReadPushItems(reader, producer, push.scratch, push.items);
    }
  }
  QUEEN_RETURN_IF_ERROR(reader.Finish());
  if (!has_items) return Status(Code::kInvalidRequest, "items array is required");
  return problem;
}

std::string WritePushReply(const std::vector<PushItem>& items,
                           const std::vector<PushOutcome>& outcomes) {
  assert(outcomes.size() == items.size());
  std::string out;
  out.reserve(PushReplyBytes(items));
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    out += i == 0 ? "{\"index\":" : ",{\"index\":";
    AppendInt(out, static_cast<int64_t>(i));
    if (!items[i].error.empty()) {
      AppendFailed(out, items[i].error);
    } else if (outcomes[i].status == PushOutcome::Status::kFailed) {
      AppendFailed(out, outcomes[i].error);
    } else if (outcomes[i].status == PushOutcome::Status::kBuffered) {
      AppendBuffered(out, items[i], outcomes[i]);
    } else {
      AppendStored(out, items[i], outcomes[i]);
    }
    out += '}';
  }
  out += ']';
  return out;
}

void HandlePush(const Context& context, http::Request& request, http::Reply reply) {
  PushRequest push;
  push.body = request.TakeBody();
  push.trace = TraceOf(context, request);
  const std::string trace_headers = TraceHeaders(push.trace, request);
  if (const Status status = ParsePush({request.identity().subject, trace_headers}, push);
      !status.ok()) {
    return reply.SendError(status);
  }
  if (const Status status = CheckPushes(request.identity(), push.items); !status.ok()) {
    return reply.SendError(status);
  }
  const bool all_refused = std::all_of(push.items.begin(), push.items.end(),
                                       [](const PushItem& item) { return !item.error.empty(); });
  if (all_refused) {
    return reply.SendIfRoom(http::Response::Json(
        201, WritePushReply(push.items, std::vector<PushOutcome>(push.items.size()))));
  }
  if (const Status room = reply.TakeRoom(PushReplyBytes(push.items)); !room.ok()) {
    return reply.SendError(room);
  }
  push.done = [reply = std::move(reply)](PushRequest& done,
                                         Result<std::vector<PushOutcome>> outcomes) mutable {
    if (!outcomes.ok()) return reply.SendError(outcomes.status());
    reply.Send(http::Response::Json(201, WritePushReply(done.items, *outcomes)));
  };
  // The items stay valid: a body that has any is too long for the string's own buffer, so moving
  // the request moves a pointer.
  context.engine.Push(std::move(push));
}

}  // namespace queen::api
