#include "api/status.h"

#include <algorithm>
#include <utility>

#include "api/context.h"
#include "api/query_params.h"
#include "api/report.h"
#include "api/report_range.h"
#include "storage/minute_reports.h"

namespace queen::api {
namespace {

// A partition costs several probes for each of its groups.
constexpr int32_t kPartitionsMax = 250;

void SendRange(const Context& context, const pg::Statement& statement, const http::Request& request,
               http::Reply reply, Edit edit = {}) {
  const Result<ReportRange> range = ParseReportRange(request.query());
  if (!range.ok()) return reply.SendError(range.status());
  const Result<QueueFilter> filter = ParseQueueFilter(request.query());
  if (!filter.ok()) return reply.SendError(filter.status());
  pg::Params params(6);
  range->AddTo(params);
  filter->AddTo(params);
  SendReport(context, statement, std::move(params), std::move(reply), "Not found", std::move(edit));
}

// So that a dashboard can warn of a broker that lets everybody in.
std::string WithSecurity(std::string document, const Context& context) {
  document.pop_back();  // the closing brace
  document += ",\"security\":";
  JsonWriter writer(document);
  writer.BeginObject();
  writer.Field("authentication", static_cast<bool>(context.authenticate));
  writer.Field("openToNetwork", context.open_to_network);
  writer.EndObject();
  document += '}';
  return document;
}

}  // namespace

void HandleStatus(const Context& context, const http::Request& request, http::Reply reply) {
  SendRange(
      context, storage::kReportStatus, request, std::move(reply),
      [&context](std::string document) { return WithSecurity(std::move(document), context); });
}

void HandleStatusAnalytics(const Context& context, const http::Request& request,
                           http::Reply reply) {
  SendRange(context, storage::kReportAnalytics, request, std::move(reply));
}

void HandleStatusQueues(const Context& context, const http::Request& request, http::Reply reply) {
  const Result<QueueFilter> filter = ParseQueueFilter(request.query());
  if (!filter.ok()) return reply.SendError(filter.status());
  const Result<admin::Page> page = ParsePage(request.query());
  if (!page.ok()) return reply.SendError(page.status());
  pg::Params params(5);
  filter->AddTo(params);
  params.Int4(page->limit).Int4(page->offset);
  SendListReport(context, request.identity(), kListOfQueues, storage::kReportStatusQueues,
                 std::move(params), std::move(reply));
}

void HandleStatusQueue(const Context& context, const http::Request& request, http::Reply reply) {
  const Status checked = CheckParams(request, {"queue"});
  if (!checked.ok()) return reply.SendError(checked);
  const Result<admin::Page> page = ParsePage(request.query());
  if (!page.ok()) return reply.SendError(page.status());
  pg::Params params(3);
  params.Text(request.Param("queue")).Int4(std::min(page->limit, kPartitionsMax));
  params.Int4(page->offset);
  SendReport(context, storage::kReportStatusQueue, std::move(params), std::move(reply),
             "Queue not found");
}

std::string WriteBuffers(const MaintenanceStatus& status) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("pending", status.buffered_messages);
  writer.Field("failed", status.failed_messages);
  writer.Field("dbHealthy", status.database_up);
  writer.Field("bufferHealthy", status.buffer_healthy);
  WriteFailedFiles(writer, status);
  writer.EndObject();
  return out;
}

void HandleStatusBuffers(const Context& context, const http::Request& /*request*/,
                         http::Reply reply) {
  reply.Send(http::Response::Json(200, WriteBuffers(context.maintenance())));
}

}  // namespace queen::api
