#include "api/routes.h"

#include <optional>
#include <utility>

#include "api/ack.h"
#include "api/admission.h"
#include "api/analytics.h"
#include "api/audit.h"
#include "api/authorize.h"
#include "api/configure.h"
#include "api/consumer_groups.h"
#include "api/dashboard.h"
#include "api/dlq.h"
#include "api/environment.h"
#include "api/explain.h"
#include "api/health.h"
#include "api/lease.h"
#include "api/maintenance.h"
#include "api/messages.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "api/pop.h"
#include "api/push.h"
#include "api/resource_reports.h"
#include "api/resources.h"
#include "api/shared_state.h"
#include "api/status.h"
#include "api/streams.h"
#include "api/traces.h"
#include "api/transaction.h"
#include "api/whoami.h"

namespace queen::api {
namespace {

using auth::Access;
using auth::Names;
using auth::Role;
using auth::Verb;
using http::Method;
using http::Reply;
using http::Request;

constexpr Access kOpen{Role::kAnybody, Verb::kSee, Names::kNothing};

constexpr Access ReadOnly(Names names) { return {Role::kReadOnly, Verb::kSee, names}; }
constexpr Access ReadWrite(Verb verb, Names names) { return {Role::kReadWrite, verb, names}; }
constexpr Access Admin(Names names) { return {Role::kAdmin, Verb::kAdmin, names}; }

// Answers only about partitions of queues that the caller may use so. What names no partition of
// ours goes on to the handler, who says so.
template <typename ContextHandler>
void HandleForPartition(const Context& context, Verb verb, ContextHandler handler, Request request,
                        Reply reply) {
  const std::optional<Uuid> uuid = Uuid::Parse(request.Param("partitionId"));
  const std::optional<PartitionId> partition = uuid ? DecodePartitionId(*uuid) : std::nullopt;
  if (!partition || request.identity().queues.AllowAll(verb)) {
    return handler(context, request, std::move(reply));
  }
  const auth::Identity who = request.identity();
  CheckPartitions(context, who, verb, {*partition}, std::move(reply),
                  [&context, handler, request = std::move(request)](Reply granted) mutable {
                    handler(context, request, std::move(granted));
                  });
}

template <typename ContextHandler>
http::Handler Bind(const Context& context, Access access, ContextHandler handler) {
  if (access.names == Names::kPartition) {
    return [&context, access, handler](Request request, Reply reply) {
      HandleForPartition(context, access.verb, handler, std::move(request), std::move(reply));
    };
  }
  return [&context, handler](Request request, Reply reply) {
    handler(context, request, std::move(reply));
  };
}

// What a route asks of its callers stands beside its path, here and nowhere else.
class Adder {
 public:
  Adder(const Context& context, http::Router& router) : context_(context), router_(router) {}

  template <typename ContextHandler>
  void operator()(Method method, std::string_view pattern, Access access,
                  ContextHandler handler) const {
    http::Handler bound = Bind(context_, access, handler);
    const std::string_view action = AuditedAction(method, pattern, access);
    if (!action.empty()) bound = Audited(context_, method, pattern, action, std::move(bound));
    router_.Add(method, pattern, access, std::move(bound));
  }

 private:
  const Context& context_;
  http::Router& router_;
};

void AddReportRoutes(const Adder& add) {
  add(Method::kGet, "/api/v1/status", ReadOnly(Names::kAll), HandleStatus);
  add(Method::kGet, "/api/v1/status/analytics", ReadOnly(Names::kQuery), HandleStatusAnalytics);
  add(Method::kGet, "/api/v1/status/buffers", ReadOnly(Names::kAll), HandleStatusBuffers);
  add(Method::kGet, "/api/v1/status/queues", ReadOnly(Names::kHandler), HandleStatusQueues);
  add(Method::kGet, "/api/v1/status/queues/:queue", ReadOnly(Names::kPath), HandleStatusQueue);
  add(Method::kGet, "/api/v1/status/queues/:queue/messages", ReadOnly(Names::kPath),
      HandleListMessages);
  add(Method::kGet, "/api/v1/analytics/system-metrics", ReadOnly(Names::kAll), HandleSystemMetrics);
  add(Method::kGet, "/api/v1/analytics/worker-metrics", ReadOnly(Names::kAll), HandleWorkerMetrics);
  add(Method::kGet, "/api/v1/analytics/queue-lag", ReadOnly(Names::kAll), HandleQueueLag);
  add(Method::kGet, "/api/v1/analytics/queue-ops", ReadOnly(Names::kAll), HandleQueueOps);
  add(Method::kGet, "/api/v1/analytics/queue-parked-replicas", ReadOnly(Names::kAll),
      HandleParkedReplicas);
  add(Method::kGet, "/api/v1/analytics/retention", ReadOnly(Names::kAll), HandleRetention);
  add(Method::kGet, "/api/v1/analytics/postgres-stats", ReadOnly(Names::kAll), HandlePostgresStats);
}

void AddAdminRoutes(const Adder& add) {
  add(Method::kPost, "/api/v1/configure", ReadWrite(Verb::kAdmin, Names::kHandler),
      HandleConfigure);
  add(Method::kGet, "/api/v1/resources/overview", ReadOnly(Names::kAll), HandleOverview);
  add(Method::kGet, "/api/v1/resources/queues", ReadOnly(Names::kHandler), HandleListQueues);
  add(Method::kGet, "/api/v1/resources/queues/:queue", ReadOnly(Names::kPath), HandleQueue);
  add(Method::kGet, "/api/v1/resources/queues/:queue/depth", ReadOnly(Names::kPath),
      HandleQueueDepth);
  add(Method::kGet, "/api/v1/resources/namespaces", ReadOnly(Names::kAll), HandleListNamespaces);
  add(Method::kGet, "/api/v1/resources/tasks", ReadOnly(Names::kAll), HandleListTasks);
  add(Method::kGet, "/api/v1/resources/partitions", ReadOnly(Names::kQuery), HandleListPartitions);
  add(Method::kPost, "/api/v1/stats/refresh", Admin(Names::kAll), HandleRefreshStats);
  add(Method::kDelete, "/api/v1/queues/:queue/clear", Admin(Names::kPath), HandleClearQueue);
  add(Method::kGet, "/api/v1/consumer-groups", ReadOnly(Names::kHandler), HandleListGroups);
  add(Method::kGet, "/api/v1/consumer-groups/lagging", ReadOnly(Names::kHandler),
      HandleLaggingGroups);
  add(Method::kGet, "/api/v1/consumer-groups/:group", ReadOnly(Names::kHandler), HandleGroup);
  add(Method::kDelete, "/api/v1/resources/queues/:queue", Admin(Names::kPath), HandleDeleteQueue);
  add(Method::kDelete, "/api/v1/resources/queues/:queue/partitions/:partition", Admin(Names::kPath),
      HandleDeletePartition);
  add(Method::kGet, "/api/v1/resources/queues/:queue/partitions/:partition/explain",
      ReadOnly(Names::kPath), HandleExplainLane);
  add(Method::kDelete, "/api/v1/consumer-groups/:group", Admin(Names::kAll), HandleDeleteGroup);
  add(Method::kDelete, "/api/v1/consumer-groups/:group/queues/:queue", Admin(Names::kPath),
      HandleDeleteGroup);
  add(Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/seek",
      ReadWrite(Verb::kPop, Names::kPath), HandleSeek);
  add(Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek",
      ReadWrite(Verb::kPop, Names::kPath), HandleSeek);
  add(Method::kPost, "/api/v1/consumer-groups/:group/subscription",
      ReadWrite(Verb::kPop, Names::kAll), HandleSetSubscription);
  add(Method::kGet, "/api/v1/streams", ReadOnly(Names::kAll), HandleListStreamQueries);
  add(Method::kGet, "/api/v1/streams/:queryId", ReadOnly(Names::kAll), HandleStreamQueryState);
  add(Method::kGet, "/api/v1/dlq", ReadOnly(Names::kQuery), HandleListDeadLetters);
  add(Method::kDelete, "/api/v1/dlq", Admin(Names::kHandler), HandlePurgeDeadLetters);
  add(Method::kPost, "/api/v1/dlq/redrive", ReadWrite(Verb::kAdmin, Names::kHandler),
      HandleRedriveDeadLetters);
  add(Method::kGet, "/api/v1/messages", ReadOnly(Names::kQuery), HandleListMessages);
  add(Method::kGet, "/api/v1/messages/:partitionId/:transactionId", ReadOnly(Names::kPartition),
      HandleGetMessage);
  add(Method::kDelete, "/api/v1/messages/:partitionId/:transactionId",
      ReadWrite(Verb::kAdmin, Names::kPartition), HandleDeleteMessage);
  add(Method::kPost, "/api/v1/messages/:partitionId/:transactionId/retry",
      ReadWrite(Verb::kAdmin, Names::kPartition), HandleRetryMessage);
  add(Method::kPost, "/api/v1/messages/:partitionId/:transactionId/dlq",
      ReadWrite(Verb::kAdmin, Names::kPartition), HandleDeadLetterMessage);
  add(Method::kPost, "/api/v1/traces", ReadWrite(Verb::kPop, Names::kHandler), HandleRecordTrace);
  add(Method::kGet, "/api/v1/traces/names", ReadOnly(Names::kAll), HandleListTraceNames);
  add(Method::kGet, "/api/v1/traces/by-name/:name", ReadOnly(Names::kAll), HandleListTracesByName);
  add(Method::kGet, "/api/v1/traces/:partitionId/:transactionId", ReadOnly(Names::kPartition),
      HandleListTraces);
  add(Method::kGet, "/api/v1/audit", Admin(Names::kAll), HandleListAudit);
  add(Method::kGet, "/api/v1/whoami", ReadOnly(Names::kNothing), HandleWhoAmI);
  add(Method::kGet, "/api/v1/system/environment", Admin(Names::kAll), HandleEnvironment);
  add(Method::kGet, "/api/v1/system/maintenance", Admin(Names::kAll), HandleMaintenance);
  add(Method::kPost, "/api/v1/system/maintenance", Admin(Names::kAll), HandleSetPushMaintenance);
  add(Method::kGet, "/api/v1/system/maintenance/pop", Admin(Names::kAll), HandleMaintenance);
  add(Method::kPost, "/api/v1/system/maintenance/pop", Admin(Names::kAll), HandleSetPopMaintenance);
  add(Method::kGet, "/api/v1/system/shared-state", Admin(Names::kAll), HandleSharedState);
}

void AddMessageRoutes(const Adder& add) {
  add(Method::kPost, kPushPath, ReadWrite(Verb::kPush, Names::kHandler), HandlePush);
  add(Method::kGet, "/api/v1/pop", ReadWrite(Verb::kPop, Names::kAll), HandlePop);
  add(Method::kGet, "/api/v1/pop/queue/:queue", ReadWrite(Verb::kPop, Names::kPath), HandlePop);
  add(Method::kGet, "/api/v1/pop/queue/:queue/partition/:partition",
      ReadWrite(Verb::kPop, Names::kPath), HandlePop);
  add(Method::kPost, "/api/v1/ack", ReadWrite(Verb::kPop, Names::kHandler), HandleAck);
  add(Method::kPost, "/api/v1/ack/batch", ReadWrite(Verb::kPop, Names::kHandler), HandleAckBatch);
  add(Method::kPost, "/api/v1/transaction", ReadWrite(Verb::kPush, Names::kHandler),
      HandleTransaction);
  add(Method::kPost, "/streams/v1/queries", ReadWrite(Verb::kPop, Names::kHandler),
      HandleStreamQuery);
  add(Method::kPost, "/streams/v1/cycle", ReadWrite(Verb::kPop, Names::kHandler),
      HandleStreamCycle);
  add(Method::kPost, "/streams/v1/state/get", ReadOnly(Names::kHandler), HandleStreamState);
  // Nobody guesses the id of a lease: who has it was given it by a pop.
  add(Method::kPost, "/api/v1/lease/:leaseId/extend", ReadWrite(Verb::kPop, Names::kNothing),
      HandleExtendLease);
}

}  // namespace

void AddRoutes(const Context& context, http::Router& router) {
  const Adder add(context, router);
  AddAdminRoutes(add);
  AddReportRoutes(add);
  AddMessageRoutes(add);
  router.SetGuard([&context](Request& request, const http::RouteInfo& route) {
    return Admit(context, request, route);
  });
  router.OnRefusal([&context](const Request& request, Reply reply, const Status& status) {
    RefuseUnrouted(context.loop, request, std::move(reply), status);
  });
  add(Method::kGet, "/metrics", kOpen, HandleMetrics);
  add(Method::kGet, "/metrics/prometheus", kOpen, HandlePrometheus);
  router.Add(Method::kGet, "/livez", kOpen,
             [](const Request&, Reply reply) { HandleLivez(std::move(reply)); });
  router.Add(Method::kGet, "/readyz", kOpen, [&context](const Request&, Reply reply) {
    HandleReadyz(context.health, std::move(reply));
  });
  router.Add(Method::kGet, "/health", kOpen, [&context](const Request&, Reply reply) {
    HandleHealth(context.health, std::move(reply));
  });
  router.Add(Method::kGet, "/openapi.json", kOpen,
             [](const Request&, Reply reply) { HandleOpenApi(std::move(reply)); });
  for (const std::string_view pattern : {"/", "/assets/*file"}) {
    router.Add(Method::kGet, pattern, kOpen, [](const Request& request, Reply reply) {
      HandleDashboard(request, std::move(reply));
    });
  }
}

}  // namespace queen::api
