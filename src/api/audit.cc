#include "api/audit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/query_params.h"
#include "api/report.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json_reader.h"
#include "base/uuid.h"
#include "storage/reports.h"

namespace queen::api {
namespace {

using http::Method;

// Where a request says which queue it changes, exactly as its handler reads it.
enum class Queue : uint8_t {
  kNone,       // all of them, or none
  kPath,       // ":queue"
  kBody,       // "queue"
  kBodyFirst,  // "queue" of the body, or else of the query
  kPartition,  // the one of ":partitionId"
};

struct Named {
  Method method;
  std::string_view pattern;
  std::string_view action;
  Queue queue;
};

constexpr auto kActions = std::to_array<Named>({
    {Method::kPost, "/api/v1/configure", "queue.configure", Queue::kBody},
    {Method::kDelete, "/api/v1/resources/queues/:queue", "queue.delete", Queue::kPath},
    {Method::kDelete, "/api/v1/queues/:queue/clear", "queue.clear", Queue::kPath},
    {Method::kDelete, "/api/v1/resources/queues/:queue/partitions/:partition", "partition.delete",
     Queue::kPath},
    {Method::kDelete, "/api/v1/consumer-groups/:group", "group.delete", Queue::kNone},
    {Method::kDelete, "/api/v1/consumer-groups/:group/queues/:queue", "group.delete", Queue::kPath},
    {Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/seek", "group.seek",
     Queue::kPath},
    {Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek",
     "group.seek", Queue::kPath},
    {Method::kPost, "/api/v1/consumer-groups/:group/subscription", "group.subscription",
     Queue::kNone},
    {Method::kDelete, "/api/v1/dlq", "dlq.purge", Queue::kBodyFirst},
    {Method::kPost, "/api/v1/dlq/redrive", "dlq.redrive", Queue::kBodyFirst},
    {Method::kDelete, "/api/v1/messages/:partitionId/:transactionId", "message.delete",
     Queue::kPartition},
    {Method::kPost, "/api/v1/messages/:partitionId/:transactionId/retry", "message.retry",
     Queue::kPartition},
    {Method::kPost, "/api/v1/messages/:partitionId/:transactionId/dlq", "message.dlq",
     Queue::kPartition},
    {Method::kPost, "/api/v1/system/maintenance", "maintenance.push", Queue::kNone},
    {Method::kPost, "/api/v1/system/maintenance/pop", "maintenance.pop", Queue::kNone},
    // It measures, and changes nothing.
    {Method::kPost, "/api/v1/stats/refresh", "", Queue::kNone},
});

const Named* FindNamed(Method method, std::string_view pattern) {
  const auto* const found = std::ranges::find_if(kActions, [&](const Named& named) {
    return named.method == method && named.pattern == pattern;
  });
  return found == kActions.end() ? nullptr : found;
}

std::string QueueOfBody(const http::Request& request) {
  const Result<JsonValue> body = ParseJson(request.body());
  if (!body.ok() || !body->is_object()) return {};
  const JsonValue named = body->Find("queue");
  JsonScratch scratch;
  return named.is_string() ? std::string(named.Text(scratch).text) : std::string();
}

// "" where it names none, or has to be asked for.
std::string QueueOf(Queue place, const http::Request& request) {
  switch (place) {
    case Queue::kNone:
    case Queue::kPartition:
      return {};
    case Queue::kPath:
      return std::string(request.Param("queue"));
    case Queue::kBody:
      return QueueOfBody(request);
    case Queue::kBodyFirst: {
      std::string queue = QueueOfBody(request);
      return queue.empty() ? std::string(request.query().GetOr("queue", "")) : queue;
    }
  }
  return {};
}

admin::AuditEntry EntryOf(std::string_view action, std::string queue,
                          const http::Request& request) {
  const auth::Identity& who = request.identity();
  admin::AuditEntry entry;
  entry.actor = who.subject;
  entry.source = auth::SourceName(who.source);
  entry.token_id = who.token_id;
  entry.client = request.peer().name;
  entry.action = action;
  entry.method = MethodName(request.method());
  entry.path = request.target();
  entry.queue = std::move(queue);
  entry.request = request.body().substr(0, admin::AuditTrail::kRequestBytesMax);
  return entry;
}

void RunAudited(const Context& context, std::string_view action, std::string queue,
                const http::Handler& handler, http::Request request, http::Reply reply) {
  reply.OnSend([&context, entry = EntryOf(action, std::move(queue), request)](int status) mutable {
    entry.at_micros = WallMicros();
    entry.status = status;
    context.audit(entry);
  });
  handler(std::move(request), std::move(reply));
}

// Asked before the change: it may be the last that is known of the partition. Where nobody can
// tell, the entry goes without.
void RunOnPartition(const Context& context, std::string_view action, const http::Handler& handler,
                    http::Request request, http::Reply reply) {
  const std::optional<Uuid> uuid = Uuid::Parse(request.Param("partitionId"));
  const std::optional<PartitionId> partition = uuid ? DecodePartitionId(*uuid) : std::nullopt;
  if (!partition) {
    return RunAudited(context, action, "", handler, std::move(request), std::move(reply));
  }
  context.admin.FindQueues(
      {*partition},
      [&context, action, &handler, request = std::move(request),
       reply = std::move(reply)](const Result<std::vector<std::string>>& names) mutable {
        std::string queue = names.ok() && !names->empty() ? names->front() : std::string();
        RunAudited(context, action, std::move(queue), handler, std::move(request),
                   std::move(reply));
      });
}

}  // namespace

std::string_view AuditedAction(Method method, std::string_view pattern,
                               const auth::Access& access) {
  if (method == Method::kGet) return "";
  if (const Named* named = FindNamed(method, pattern)) return named->action;
  const bool administers = access.role == auth::Role::kAdmin || access.verb == auth::Verb::kAdmin;
  return administers ? pattern : "";
}

http::Handler Audited(const Context& context, Method method, std::string_view pattern,
                      std::string_view action, http::Handler handler) {
  const Named* const named = FindNamed(method, pattern);
  const Queue place = named == nullptr ? Queue::kNone : named->queue;
  return [&context, action, place, handler = std::move(handler)](http::Request request,
                                                                 http::Reply reply) {
    if (!context.audit) return handler(std::move(request), std::move(reply));
    if (place == Queue::kPartition) {
      return RunOnPartition(context, action, handler, std::move(request), std::move(reply));
    }
    std::string queue = QueueOf(place, request);
    RunAudited(context, action, std::move(queue), handler, std::move(request), std::move(reply));
  };
}

void HandleListAudit(const Context& context, const http::Request& request, http::Reply reply) {
  const http::Query& query = request.query();
  std::optional<std::string> actor;
  std::optional<std::string> action;
  std::optional<std::string> queue;
  std::optional<int64_t> from;
  std::optional<int64_t> to;
  for (const Status& taken : {TakeName(query, "actor", actor), TakeName(query, "action", action),
                              TakeName(query, "queue", queue), TakeTime(query, "from", from),
                              TakeTime(query, "to", to)}) {
    if (!taken.ok()) return reply.SendError(taken);
  }
  const std::string_view before_text = query.GetOr("before", "");
  const std::optional<Uuid> before = Uuid::Parse(before_text);
  if (!before_text.empty() && !before) {
    return reply.SendError(Status(Code::kInvalidRequest, "before must be the id of an entry"));
  }
  const Result<int64_t> limit = query.Int("limit", kPageLimitDefault);
  if (!limit.ok()) return reply.SendError(limit.status());
  pg::Params params(7);
  params.TextOrNull(actor).TextOrNull(action).TextOrNull(queue);
  params.TimestampTzOrNull(from).TimestampTzOrNull(to);
  before ? params.Uuid(*before) : params.Null(pg::oid::kUuid);
  params.Int4(static_cast<int32_t>(std::clamp<int64_t>(*limit, 1, kPageLimitMax)));
  SendReport(context, storage::kReportAudit, std::move(params), std::move(reply));
}

}  // namespace queen::api
