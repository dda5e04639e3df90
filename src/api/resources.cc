#include "api/resources.h"

#include <optional>
#include <string>
#include <utility>

#include "api/query_params.h"

namespace queen::api {
namespace {

std::string WriteReply(const std::string& queue, const std::optional<std::string>& partition,
                       bool existed) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("deleted", true);
  writer.Field("queue", queue);
  if (partition) writer.Field("partition", *partition);
  writer.Field("existed", existed);
  writer.EndObject();
  return out;
}

std::string WriteClearReply(const admin::ClearRequest& clear, int64_t count) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("cleared", true);
  writer.Field("queue", clear.queue);
  WriteOptional(writer, "partition", clear.partition);
  writer.Field("count", count);
  writer.EndObject();
  return out;
}

admin::Done<bool> AnswerWith(const Context& context, std::string queue,
                             std::optional<std::string> partition, http::Reply reply) {
  return [&context, queue = std::move(queue), partition = std::move(partition),
          reply = std::move(reply)](Result<bool> existed) mutable {
    // Also after a failure, whose end may be unknown.
    context.engine.QueueChanged(queue);
    if (!existed.ok()) return reply.SendError(existed.status());
    reply.Send(http::Response::Json(200, WriteReply(queue, partition, *existed)));
  };
}

}  // namespace

void HandleDeleteQueue(const Context& context, const http::Request& request, http::Reply reply) {
  if (const Status status = CheckParams(request, {"queue"}); !status.ok()) {
    return reply.SendError(status);
  }
  const std::string queue(request.Param("queue"));
  context.admin.DeleteQueue(queue, AnswerWith(context, queue, std::nullopt, std::move(reply)));
}

void HandleDeletePartition(const Context& context, const http::Request& request,
                           http::Reply reply) {
  if (const Status status = CheckParams(request, {"queue", "partition"}); !status.ok()) {
    return reply.SendError(status);
  }
  const std::string queue(request.Param("queue"));
  const std::string partition(request.Param("partition"));
  context.admin.DeletePartition(queue, partition,
                                AnswerWith(context, queue, partition, std::move(reply)));
}

void HandleClearQueue(const Context& context, const http::Request& request, http::Reply reply) {
  admin::ClearRequest clear;
  clear.queue = request.Param("queue");
  Status status = CheckParams(request, {"queue"});
  if (status.ok()) status = TakeName(request.query(), "partition", clear.partition);
  if (!status.ok()) return reply.SendError(status);
  context.admin.ClearQueue(
      clear, [&context, clear, reply = std::move(reply)](Result<int64_t> count) mutable {
        // Also after a failure: some partitions may have been cleared.
        context.engine.QueueChanged(clear.queue);
        if (!count.ok()) return reply.SendError(count.status());
        reply.Send(http::Response::Json(200, WriteClearReply(clear, *count)));
      });
}

}  // namespace queen::api
