#include "api/analytics.h"

#include <algorithm>
#include <utility>

#include "api/context.h"
#include "api/query_params.h"
#include "api/report.h"
#include "api/report_range.h"
#include "storage/minute_reports.h"

namespace queen::api {
namespace {

// Every queue of a page has every point, so pages are smaller than those of other lists.
constexpr int64_t kQueuesDefault = 20;
constexpr int64_t kQueuesMax = 100;

void SendBrokers(const Context& context, const pg::Statement& statement,
                 const http::Request& request, http::Reply reply) {
  const Result<ReportRange> range = ParseReportRange(request.query());
  if (!range.ok()) return reply.SendError(range.status());
  std::optional<std::string> hostname;
  const Status taken = TakeName(request.query(), "hostname", hostname);
  if (!taken.ok()) return reply.SendError(taken);
  const Result<int64_t> port = request.query().Int("workerId", 0, 0, UINT16_MAX);
  if (!port.ok()) return reply.SendError(port.status());
  pg::Params params(5);
  range->AddTo(params);
  params.TextOrNull(hostname);
  *port > 0 ? params.Int4(static_cast<int32_t>(*port)) : params.Null(pg::oid::kInt4);
  SendReport(context, statement, std::move(params), std::move(reply));
}

void SendQueues(const Context& context, const pg::Statement& statement,
                const http::Request& request, http::Reply reply) {
  const Result<ReportRange> range = ParseReportRange(request.query());
  if (!range.ok()) return reply.SendError(range.status());
  const Result<QueueFilter> filter = ParseQueueFilter(request.query());
  if (!filter.ok()) return reply.SendError(filter.status());
  const Result<int64_t> limit = request.query().Int("limit", kQueuesDefault);
  if (!limit.ok()) return reply.SendError(limit.status());
  const Result<int64_t> offset = request.query().Int("offset", 0, 0, INT32_MAX);
  if (!offset.ok()) return reply.SendError(offset.status());
  pg::Params params(8);
  range->AddTo(params);
  filter->AddTo(params);
  params.Int4(static_cast<int32_t>(std::clamp<int64_t>(*limit, 1, kQueuesMax)));
  params.Int4(static_cast<int32_t>(*offset));
  SendReport(context, statement, std::move(params), std::move(reply));
}

}  // namespace

void HandleSystemMetrics(const Context& context, const http::Request& request, http::Reply reply) {
  SendBrokers(context, storage::kReportSystemMetrics, request, std::move(reply));
}

void HandleWorkerMetrics(const Context& context, const http::Request& request, http::Reply reply) {
  SendBrokers(context, storage::kReportWorkerMetrics, request, std::move(reply));
}

void HandleQueueLag(const Context& context, const http::Request& request, http::Reply reply) {
  SendQueues(context, storage::kReportQueueLag, request, std::move(reply));
}

void HandleQueueOps(const Context& context, const http::Request& request, http::Reply reply) {
  SendQueues(context, storage::kReportQueueOps, request, std::move(reply));
}

void HandleParkedReplicas(const Context& context, const http::Request& request, http::Reply reply) {
  SendQueues(context, storage::kReportParkedReplicas, request, std::move(reply));
}

void HandleRetention(const Context& context, const http::Request& request, http::Reply reply) {
  const Result<ReportRange> range = ParseReportRange(request.query());
  if (!range.ok()) return reply.SendError(range.status());
  std::optional<std::string> queue;
  const Status taken = TakeName(request.query(), "queue", queue);
  if (!taken.ok()) return reply.SendError(taken);
  pg::Params params(4);
  range->AddTo(params);
  params.TextOrNull(queue);
  SendReport(context, storage::kReportRetention, std::move(params), std::move(reply));
}

void HandlePostgresStats(const Context& context, const http::Request& /*request*/,
                         http::Reply reply) {
  SendReport(context, storage::kReportPostgresStats, pg::Params(0), std::move(reply));
}

}  // namespace queen::api
