#include "api/routes.h"

#include <utility>

#include "api/ack.h"
#include "api/analytics.h"
#include "api/configure.h"
#include "api/consumer_groups.h"
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

namespace queen::api {
namespace {

using http::Method;
using http::Reply;
using http::Request;

template <typename ContextHandler>
http::Handler Bind(const Context& context, ContextHandler handler) {
  return [&context, handler](Request request, Reply reply) {
    handler(context, request, std::move(reply));
  };
}

void AddReportRoutes(const Context& context, http::Router& router) {
  const auto add = [&](std::string_view pattern, auto handler) {
    router.Add(Method::kGet, pattern, Bind(context, handler));
  };
  add("/api/v1/status", HandleStatus);
  add("/api/v1/status/analytics", HandleStatusAnalytics);
  add("/api/v1/status/buffers", HandleStatusBuffers);
  add("/api/v1/status/queues", HandleStatusQueues);
  add("/api/v1/status/queues/:queue", HandleStatusQueue);
  add("/api/v1/status/queues/:queue/messages", HandleListMessages);
  add("/api/v1/analytics/system-metrics", HandleSystemMetrics);
  add("/api/v1/analytics/worker-metrics", HandleWorkerMetrics);
  add("/api/v1/analytics/queue-lag", HandleQueueLag);
  add("/api/v1/analytics/queue-ops", HandleQueueOps);
  add("/api/v1/analytics/queue-parked-replicas", HandleParkedReplicas);
  add("/api/v1/analytics/retention", HandleRetention);
  add("/api/v1/analytics/postgres-stats", HandlePostgresStats);
}

void AddAdminRoutes(const Context& context, http::Router& router) {
  const auto add = [&](Method method, std::string_view pattern, auto handler) {
    router.Add(method, pattern, Bind(context, handler));
  };
  add(Method::kPost, "/api/v1/configure", HandleConfigure);
  add(Method::kGet, "/api/v1/resources/overview", HandleOverview);
  add(Method::kGet, "/api/v1/resources/queues", HandleListQueues);
  add(Method::kGet, "/api/v1/resources/queues/:queue", HandleQueue);
  add(Method::kGet, "/api/v1/resources/queues/:queue/depth", HandleQueueDepth);
  add(Method::kGet, "/api/v1/resources/namespaces", HandleListNamespaces);
  add(Method::kGet, "/api/v1/resources/tasks", HandleListTasks);
  add(Method::kGet, "/api/v1/resources/partitions", HandleListPartitions);
  add(Method::kPost, "/api/v1/stats/refresh", HandleRefreshStats);
  add(Method::kDelete, "/api/v1/queues/:queue/clear", HandleClearQueue);
  add(Method::kGet, "/api/v1/consumer-groups", HandleListGroups);
  add(Method::kGet, "/api/v1/consumer-groups/lagging", HandleLaggingGroups);
  add(Method::kGet, "/api/v1/consumer-groups/:group", HandleGroup);
  add(Method::kDelete, "/api/v1/resources/queues/:queue", HandleDeleteQueue);
  add(Method::kDelete, "/api/v1/resources/queues/:queue/partitions/:partition",
      HandleDeletePartition);
  add(Method::kGet, "/api/v1/resources/queues/:queue/partitions/:partition/explain",
      HandleExplainLane);
  add(Method::kDelete, "/api/v1/consumer-groups/:group", HandleDeleteGroup);
  add(Method::kDelete, "/api/v1/consumer-groups/:group/queues/:queue", HandleDeleteGroup);
  add(Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/seek", HandleSeek);
  add(Method::kPost, "/api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek",
      HandleSeek);
  add(Method::kPost, "/api/v1/consumer-groups/:group/subscription", HandleSetSubscription);
  add(Method::kGet, "/api/v1/dlq", HandleListDeadLetters);
  add(Method::kDelete, "/api/v1/dlq", HandlePurgeDeadLetters);
  add(Method::kPost, "/api/v1/dlq/redrive", HandleRedriveDeadLetters);
  add(Method::kGet, "/api/v1/messages", HandleListMessages);
  add(Method::kGet, "/api/v1/messages/:partitionId/:transactionId", HandleGetMessage);
  add(Method::kDelete, "/api/v1/messages/:partitionId/:transactionId", HandleDeleteMessage);
  add(Method::kPost, "/api/v1/messages/:partitionId/:transactionId/retry", HandleRetryMessage);
  add(Method::kPost, "/api/v1/messages/:partitionId/:transactionId/dlq", HandleDeadLetterMessage);
  add(Method::kPost, "/api/v1/traces", HandleRecordTrace);
  add(Method::kGet, "/api/v1/traces/names", HandleListTraceNames);
  add(Method::kGet, "/api/v1/traces/by-name/:name", HandleListTracesByName);
  add(Method::kGet, "/api/v1/traces/:partitionId/:transactionId", HandleListTraces);
  add(Method::kGet, "/api/v1/system/environment", HandleEnvironment);
  add(Method::kGet, "/api/v1/system/maintenance", HandleMaintenance);
  add(Method::kPost, "/api/v1/system/maintenance", HandleSetPushMaintenance);
  add(Method::kGet, "/api/v1/system/maintenance/pop", HandleMaintenance);
  add(Method::kPost, "/api/v1/system/maintenance/pop", HandleSetPopMaintenance);
  add(Method::kGet, "/api/v1/system/shared-state", HandleSharedState);
}

}  // namespace

void AddRoutes(const Context& context, http::Router& router) {
  AddAdminRoutes(context, router);
  AddReportRoutes(context, router);
  router.OnRefusal([&context](const Request& request, Reply reply, const Status& status) {
    RefuseUnrouted(context.loop, request, std::move(reply), status);
  });
  router.Add(Method::kPost, kPushPath, Bind(context, HandlePush));
  router.Add(Method::kGet, "/api/v1/pop", Bind(context, HandlePop));
  router.Add(Method::kGet, "/api/v1/pop/queue/:queue", Bind(context, HandlePop));
  router.Add(Method::kGet, "/api/v1/pop/queue/:queue/partition/:partition",
             Bind(context, HandlePop));
  router.Add(Method::kPost, "/api/v1/ack", Bind(context, HandleAck));
  router.Add(Method::kPost, "/api/v1/ack/batch", Bind(context, HandleAckBatch));
  router.Add(Method::kPost, "/api/v1/transaction", Bind(context, HandleTransaction));
  router.Add(Method::kPost, "/streams/v1/queries", Bind(context, HandleStreamQuery));
  router.Add(Method::kPost, "/streams/v1/cycle", Bind(context, HandleStreamCycle));
  router.Add(Method::kPost, "/streams/v1/state/get", Bind(context, HandleStreamState));
  router.Add(Method::kPost, "/api/v1/lease/:leaseId/extend", Bind(context, HandleExtendLease));
  router.Add(Method::kGet, "/metrics", Bind(context, HandleMetrics));
  router.Add(Method::kGet, "/metrics/prometheus", Bind(context, HandlePrometheus));
  router.Add(Method::kGet, "/livez",
             [](const Request&, Reply reply) { HandleLivez(std::move(reply)); });
  router.Add(Method::kGet, "/readyz", [&context](const Request&, Reply reply) {
    HandleReadyz(context.health, std::move(reply));
  });
  router.Add(Method::kGet, "/health", [&context](const Request&, Reply reply) {
    HandleHealth(context.health, std::move(reply));
  });
  router.Add(Method::kGet, "/openapi.json",
             [](const Request&, Reply reply) { HandleOpenApi(std::move(reply)); });
}

}  // namespace queen::api
