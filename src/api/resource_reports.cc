#include "api/resource_reports.h"

#include <optional>
#include <string>
#include <utility>

#include "api/query_params.h"
#include "api/report.h"
#include "storage/reports.h"

namespace queen::api {
namespace {

constexpr int32_t kDepthProbes = 3'000;
constexpr int64_t kLagSecondsDefault = 3'600;
constexpr int64_t kLagSecondsMax = 3'155'760'000;  // a hundred years
constexpr const char* kNoQueue = "Queue not found";

// A report whose only parameters are those of the page.
void SendPaged(const Context& context, const pg::Statement& statement, const http::Request& request,
               http::Reply reply, const QueueList& where = kListOfQueues) {
  pg::Params params(2);
  if (const Status status = AddPage(request.query(), params); !status.ok()) {
    return reply.SendError(status);
  }
  SendListReport(context, request.identity(), where, statement, std::move(params),
                 std::move(reply));
}

// The same about what the path names.
void SendPagedAbout(const Context& context, const pg::Statement& statement, std::string_view name,
                    const http::Request& request, http::Reply reply) {
  const bool of_group = name == "group";
  Status status = CheckParams(request, {name});
  pg::Params params(3);
  params.Text(request.Param(name));
  if (status.ok()) status = AddPage(request.query(), params);
  if (!status.ok()) return reply.SendError(status);
  if (!of_group) {
    return SendReport(context, statement, std::move(params), std::move(reply), kNoQueue);
  }
  SendListReport(context, request.identity(), kQueuesOfGroup, statement, std::move(params),
                 std::move(reply), kNoQueue);
}

Result<bool> ParseSort(const http::Query& query) {
  const std::string_view sort = query.GetOr("sort", "name");
  if (sort == "lag") return true;
  if (sort == "name" || sort.empty()) return false;
  return Status(Code::kInvalidRequest, "sort must be name or lag");
}

}  // namespace

void HandleOverview(const Context& context, const http::Request& /*request*/, http::Reply reply) {
  SendReport(context, storage::kReportOverview, pg::Params(0), std::move(reply));
}

void HandleListQueues(const Context& context, const http::Request& request, http::Reply reply) {
  std::optional<std::string> namespace_name;
  std::optional<std::string> task;
  Status status = TakeName(request.query(), "namespace", namespace_name);
  if (status.ok()) status = TakeName(request.query(), "task", task);
  pg::Params params(4);
  params.TextOrNull(namespace_name);
  params.TextOrNull(task);
  if (status.ok()) status = AddPage(request.query(), params);
  if (!status.ok()) return reply.SendError(status);
  SendListReport(context, request.identity(), kListOfQueues, storage::kReportQueues,
                 std::move(params), std::move(reply));
}

void HandleQueue(const Context& context, const http::Request& request, http::Reply reply) {
  SendPagedAbout(context, storage::kReportQueue, "queue", request, std::move(reply));
}

void HandleQueueDepth(const Context& context, const http::Request& request, http::Reply reply) {
  if (const Status status = CheckParams(request, {"queue"}); !status.ok()) {
    return reply.SendError(status);
  }
  pg::Params params(2);
  params.Text(request.Param("queue")).Int4(kDepthProbes);
  SendReport(context, storage::kReportDepth, std::move(params), std::move(reply), kNoQueue);
}

void HandleListNamespaces(const Context& context, const http::Request& request, http::Reply reply) {
  SendPaged(context, storage::kReportNamespaces, request, std::move(reply));
}

void HandleListTasks(const Context& context, const http::Request& request, http::Reply reply) {
  SendPaged(context, storage::kReportTasks, request, std::move(reply));
}

void HandleListPartitions(const Context& context, const http::Request& request, http::Reply reply) {
  std::optional<std::string> queue;
  if (const Status status = TakeName(request.query(), "queue", queue); !status.ok()) {
    return reply.SendError(status);
  }
  const Result<bool> by_lag = ParseSort(request.query());
  if (!by_lag.ok()) return reply.SendError(by_lag.status());
  const Result<admin::Page> page = ParsePage(request.query());
  if (!page.ok()) return reply.SendError(page.status());
  pg::Params params(4);
  params.TextOrNull(queue);
  params.Bool(*by_lag).Int4(page->limit).Int4(page->offset);
  SendReport(context, storage::kReportPartitions, std::move(params), std::move(reply), kNoQueue);
}

void HandleListGroups(const Context& context, const http::Request& request, http::Reply reply) {
  SendPaged(context, storage::kReportGroups, request, std::move(reply), kListOfGroups);
}

void HandleGroup(const Context& context, const http::Request& request, http::Reply reply) {
  SendPagedAbout(context, storage::kReportGroup, "group", request, std::move(reply));
}

void HandleLaggingGroups(const Context& context, const http::Request& request, http::Reply reply) {
  const http::Query& query = request.query();
  const Result<int64_t> seconds = query.Int("minLagSeconds", kLagSecondsDefault, 0, kLagSecondsMax);
  if (!seconds.ok()) return reply.SendError(seconds.status());
  Result<admin::Page> page = ParsePage(query);
  if (!page.ok()) return reply.SendError(page.status());
  if (!query.Get("limit")) page->limit = kPageLimitMax;
  pg::Params params(3);
  params.Int8(*seconds).Int4(page->limit).Int4(page->offset);
  SendListReport(context, request.identity(), kListOfLagging, storage::kReportLagging,
                 std::move(params), std::move(reply));
}

void HandleListStreamQueries(const Context& context, const http::Request& request,
                             http::Reply reply) {
  const Result<admin::Page> page = ParsePage(request.query());
  if (!page.ok()) return reply.SendError(page.status());
  pg::Params params(2);
  params.Int4(page->limit).Int4(page->offset);
  SendReport(context, storage::kReportStreams, std::move(params), std::move(reply));
}

void HandleStreamQueryState(const Context& context, const http::Request& request,
                            http::Reply reply) {
  if (const Status status = CheckParams(request, {"queryId"}); !status.ok()) {
    return reply.SendError(status);
  }
  pg::Params params(1);
  params.Text(request.Param("queryId"));
  SendReport(context, storage::kReportStream, std::move(params), std::move(reply),
             "Query not found");
}

void HandleRefreshStats(const Context& context, const http::Request& /*request*/,
                        http::Reply reply) {
  context.admin.RefreshStats(
      [&context, reply = std::move(reply)](const Result<bool>& done) mutable {
        if (!done.ok()) return reply.SendError(done.status());
        SendReport(context, storage::kReportStats, pg::Params(0), std::move(reply));
      });
}

}  // namespace queen::api
