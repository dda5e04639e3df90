#include "api/audit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "api/query_params.h"
#include "api/report.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "base/uuid.h"
#include "storage/reports.h"

namespace queen::api {
namespace {

using http::Method;

struct Named {
  Method method;
  std::string_view pattern;
  std::string_view action;
};

constexpr auto kActions = std::to_array<Named>({
    {Method::kPost, "/api/v1/configure", "queue.configure"},
    {Method::kDelete, "/api/v1/resources/queues/:queue", "queue.delete"},
    {Method::kDelete, "/api/v1/queues/:queue/clear", "queue.clear"},
    {Method::kDelete, "/api/v1/resources/queues/:queue/partitions/:partition", "partition.delete"},
    {Method::kDelete, "/api/v1/consumer-groups/:group", "group.delete"},
    {Method::kDelete, "/api/v1/consumer-groups/:group/queues/:queue", "group.delete"},
    {Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/seek", "group.seek"},
    {Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek",
     "group.seek"},
    {Method::kPost, "/api/v1/consumer-groups/:group/subscription", "group.subscription"},
    {Method::kDelete, "/api/v1/dlq", "dlq.purge"},
    {Method::kPost, "/api/v1/dlq/redrive", "dlq.redrive"},
    {Method::kDelete, "/api/v1/messages/:partitionId/:transactionId", "message.delete"},
    {Method::kPost, "/api/v1/messages/:partitionId/:transactionId/retry", "message.retry"},
    {Method::kPost, "/api/v1/messages/:partitionId/:transactionId/dlq", "message.dlq"},
    {Method::kPost, "/api/v1/system/maintenance", "maintenance.push"},
    {Method::kPost, "/api/v1/system/maintenance/pop", "maintenance.pop"},
    // It measures, and changes nothing.
    {Method::kPost, "/api/v1/stats/refresh", ""},
});

// Of the path, the query or the body; "" where it names none.
std::string QueueOf(const http::Request& request) {
  if (!request.Param("queue").empty()) return std::string(request.Param("queue"));
  const std::string_view queue = request.query().GetOr("queue", "");
  if (!queue.empty()) return std::string(queue);
  const Result<JsonValue> body = ParseJson(request.body());
  if (!body.ok() || !body->is_object()) return {};
  const JsonValue named = body->Find("queue");
  JsonScratch scratch;
  return named.is_string() ? std::string(named.Text(scratch).text) : std::string();
}

admin::AuditEntry EntryOf(std::string_view action, const http::Request& request) {
  const auth::Identity& who = request.identity();
  admin::AuditEntry entry;
  entry.actor = who.subject;
  entry.source = auth::SourceName(who.source);
  entry.token_id = who.token_id;
  entry.client = request.peer().name;
  entry.action = action;
  entry.method = MethodName(request.method());
  entry.path = request.target();
  entry.queue = QueueOf(request);
  entry.request = request.body().substr(0, admin::AuditTrail::kRequestBytesMax);
  return entry;
}

}  // namespace

std::string_view AuditedAction(Method method, std::string_view pattern,
                               const auth::Access& access) {
  if (method == Method::kGet) return "";
  for (const Named& named : kActions) {
    if (named.method == method && named.pattern == pattern) return named.action;
  }
  const bool administers = access.role == auth::Role::kAdmin || access.verb == auth::Verb::kAdmin;
  return administers ? pattern : "";
}

http::Handler Audited(const Context& context, std::string_view action, http::Handler handler) {
  return
      [&context, action, handler = std::move(handler)](http::Request request, http::Reply reply) {
        if (context.audit) {
          reply.OnSend([&context, entry = EntryOf(action, request)](int status) mutable {
            entry.at_micros = WallMicros();
            entry.status = status;
            context.audit(entry);
          });
        }
        handler(std::move(request), std::move(reply));
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
