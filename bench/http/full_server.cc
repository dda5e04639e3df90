// The whole HTTP layer as the broker uses it: acceptor thread, one worker loop, limits and
// timeouts, and a router with as many routes as the product has.
//   http_full_server <port>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "http/acceptor.h"
#include "http/connections.h"
#include "http/router.h"

namespace queen::http {
namespace {

void Ok(Request, Reply reply) { reply.Send(Response::Json(200, R"({"status":"ok"})")); }

Router MakeRouter() {
  Router router;
  for (const char* path : {
           "/",
           "/assets/*file",
           "/health",
           "/metrics",
           "/metrics/prometheus",
           "/readyz",
           "/livez",
           "/api/v1/pop",
           "/api/v1/pop/queue/:queue",
           "/api/v1/pop/queue/:queue/partition/:partition",
           "/api/v1/messages",
           "/api/v1/messages/:partitionId/:transactionId",
           "/api/v1/dlq",
           "/api/v1/traces/:partitionId/:transactionId",
           "/api/v1/traces/by-name/:name",
           "/api/v1/traces/names",
           "/api/v1/resources/overview",
           "/api/v1/resources/queues",
           "/api/v1/resources/queues/:queue",
           "/api/v1/resources/namespaces",
           "/api/v1/resources/tasks",
           "/api/v1/resources/partitions",
           "/api/v1/status",
           "/api/v1/status/queues",
           "/api/v1/status/queues/:queue",
           "/api/v1/status/queues/:queue/messages",
           "/api/v1/status/analytics",
           "/api/v1/status/buffers",
           "/api/v1/analytics/system-metrics",
           "/api/v1/analytics/worker-metrics",
           "/api/v1/analytics/queue-lag",
           "/api/v1/analytics/queue-ops",
           "/api/v1/analytics/queue-parked-replicas",
           "/api/v1/analytics/retention",
           "/api/v1/analytics/postgres-stats",
           "/api/v1/consumer-groups",
           "/api/v1/consumer-groups/:group",
           "/api/v1/consumer-groups/lagging",
           "/api/v1/system/maintenance",
           "/api/v1/system/maintenance/pop",
           "/api/v1/system/shared-state",
       }) {
    router.Add(Method::kGet, path, Ok);
  }
  for (const char* path : {
           "/api/v1/push",
           "/api/v1/ack",
           "/api/v1/ack/batch",
           "/api/v1/transaction",
           "/api/v1/lease/:leaseId/extend",
           "/streams/v1/queries",
           "/streams/v1/cycle",
           "/streams/v1/state/get",
           "/api/v1/configure",
           "/api/v1/traces",
           "/api/v1/messages/:partitionId/:transactionId/retry",
           "/api/v1/messages/:partitionId/:transactionId/dlq",
           "/api/v1/dlq/redrive",
           "/api/v1/consumer-groups/:group/queues/:queue/seek",
           "/api/v1/consumer-groups/:group/subscription",
           "/api/v1/system/maintenance",
           "/api/v1/system/maintenance/pop",
           "/api/v1/stats/refresh",
       }) {
    router.Add(Method::kPost, path, Ok);
  }
  for (const char* path : {
           "/api/v1/resources/queues/:queue",
           "/api/v1/resources/queues/:queue/partitions/:partition",
           "/api/v1/messages/:partitionId/:transactionId",
           "/api/v1/consumer-groups/:group",
           "/api/v1/consumer-groups/:group/queues/:queue",
       }) {
    router.Add(Method::kDelete, path, Ok);
  }
  return router;
}

int Serve(uint16_t port) {
  auto acceptor = Acceptor::Listen("127.0.0.1", port);
  if (!acceptor.ok()) {
    std::fprintf(stderr, "%s\n", acceptor.status().message().c_str());
    return 1;
  }
  const Router router = MakeRouter();
  const auto budgets = std::make_shared<Budgets>(Limits());
  Loop loop("worker");
  Connections connections(loop, budgets, {}, [&](Request request, Reply reply) {
    router.Dispatch(std::move(request), std::move(reply));
  });
  (*acceptor)->Start({&connections});
  loop.Run();
  return 0;
}

}  // namespace
}  // namespace queen::http

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return queen::http::Serve(static_cast<uint16_t>(std::atoi(argv[1])));
}
