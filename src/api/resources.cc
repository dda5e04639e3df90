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

}  // namespace queen::api
