// GET /api/v1/analytics/...: what the brokers wrote down about each minute, and how PostgreSQL
// fares. The documents are SQL's (storage/minute_reports.h); here only parameters are read.
//
//   from, to, interval    every time series (report_range.h)
//   hostname, workerId    system-metrics and worker-metrics: of one broker
//   queue, namespace, task, limit, offset
//                         queue-lag, queue-ops, queue-parked-replicas: a page of queues
//   queue                 retention
#pragma once

#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

void HandleSystemMetrics(const Context& context, const http::Request& request, http::Reply reply);
void HandleWorkerMetrics(const Context& context, const http::Request& request, http::Reply reply);
void HandleQueueLag(const Context& context, const http::Request& request, http::Reply reply);
void HandleQueueOps(const Context& context, const http::Request& request, http::Reply reply);
void HandleParkedReplicas(const Context& context, const http::Request& request, http::Reply reply);
void HandleRetention(const Context& context, const http::Request& request, http::Reply reply);
void HandlePostgresStats(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
