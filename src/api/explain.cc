#include "api/explain.h"

#include <utility>

#include "api/context.h"
#include "api/query_params.h"
#include "base/json_reader.h"
#include "base/json_value.h"
#include "storage/reports.h"

namespace queen::api {
namespace {

constexpr std::string_view kQueueMode = "__QUEUE_MODE__";

std::optional<PartitionId> PartitionIn(std::string_view report) {
  const Result<JsonValue> value = ParseJson(report);
  if (!value.ok()) return std::nullopt;
  const JsonValue id = value->Find("partitionId");
  if (!id.is_string()) return std::nullopt;
  JsonScratch scratch;
  const std::optional<Uuid> uuid = Uuid::Parse(id.Text(scratch).text);
  return uuid ? DecodePartitionId(*uuid) : std::nullopt;
}

}  // namespace

void HandleExplainLane(const Context& context, const http::Request& request, http::Reply reply) {
  Status status = CheckParams(request, {"queue", "partition"});
  std::optional<std::string> group;
  if (status.ok()) status = TakeName(request.query(), "consumerGroup", group);
  if (!status.ok()) return reply.SendError(status);
  LaneQuestion question{.queue = std::string(request.Param("queue")),
                        .group = group.value_or(std::string(kQueueMode)),
                        .partition = std::nullopt};
  pg::Params params(3);
  params.Text(question.queue).Text(request.Param("partition")).Text(question.group);
  context.admin.Report(
      {storage::kReportLane, std::move(params)},
      [&context, question = std::move(question),
       reply = std::move(reply)](Result<std::string> report) mutable {
        if (!report.ok()) return reply.SendError(report.status());
        question.partition = PartitionIn(*report);
        context.lane(std::move(question), [report = *std::move(report), reply = std::move(reply)](
                                              const std::string& belief) mutable {
          report.pop_back();  // the closing brace
          report += ",\"broker\":" + belief + "}";
          reply.SendPage(http::Response::Json(200, std::move(report)));
        });
      });
}

}  // namespace queen::api
