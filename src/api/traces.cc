#include "api/traces.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/authorize.h"
#include "api/names.h"
#include "api/query_params.h"
#include "base/clock.h"
#include "base/json_reader.h"

namespace queen::api {
namespace {

using admin::Listed;
using admin::Trace;
using admin::TraceName;
using admin::TraceRequest;

constexpr std::string_view kEventTypeDefault = "info";

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }
Status NoPartition() { return Status(Code::kNotFound, "Partition not found"); }

std::optional<PartitionId> PartitionOf(std::string_view text) {
  const std::optional<Uuid> uuid = Uuid::Parse(text);
  return uuid ? DecodePartitionId(*uuid) : std::nullopt;
}

Status TakeNames(std::string_view list, std::vector<std::string>& names) {
  JsonReader reader(list);
  if (!reader.EnterArray()) return Invalid("traceNames must be an array of strings");
  Status problem;
  while (reader.NextElement()) {
    auto name = OptionalName("traceNames", reader.Value());
    if (!name.ok()) {
      problem = name.status();
    } else if (!*name || (*name)->empty()) {
      problem = Invalid("traceNames must be an array of strings");
    } else {
      names.push_back(**std::move(name));
    }
  }
  QUEEN_RETURN_IF_ERROR(problem);
  if (names.size() > kTraceNamesMax) {
    return Invalid(fmt::format("A trace has at most {} traceNames", kTraceNamesMax));
  }
  return Status::Ok();
}

Status TakeMessage(const JsonValue& body, TraceRequest& trace) {
  const JsonValue txn = body.Find("transactionId");
  if (txn.absent_or_null()) return Invalid("transactionId is required");
  if (!txn.is_string()) return Invalid("transactionId must be a string");
  JsonScratch scratch;
  const JsonText text = txn.Text(scratch);
  QUEEN_RETURN_IF_ERROR(CheckTransactionId(text));
  trace.txn = text.text;
  const JsonValue partition = body.Find("partitionId");
  if (partition.absent_or_null()) return Invalid("partitionId is required");
  if (!partition.is_string()) return Invalid("partitionId must be a string");
  const auto id = PartitionOf(partition.Text(scratch).text);
  if (!id) return NoPartition();
  trace.partition = *id;
  return Status::Ok();
}

// An open object: the fields every list of traces has.
void WriteTraceFields(JsonWriter& writer, const Trace& trace) {
  writer.Field("id", trace.id.ToString());
  writer.Field("event_type", trace.event_type);
  writer.Key("data");
  writer.Raw(trace.data);
  WriteOptional(writer, "consumer_group", trace.group);
  WriteOptional(writer, "worker_id", trace.worker);
  writer.Field("created_at", FormatTimestamp(trace.created_micros));
}

std::string WriteTraces(const std::vector<Trace>& traces) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("traces");
  writer.BeginArray();
  for (const Trace& trace : traces) {
    writer.BeginObject();
    WriteTraceFields(writer, trace);
    writer.Key("trace_names");
    writer.BeginArray();
    for (const std::string& name : trace.names) writer.String(name);
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return out;
}

std::string WriteNamedTraces(const Listed<Trace>& listed, const admin::Page& page) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("traces");
  writer.BeginArray();
  for (const Trace& trace : listed.items) {
    writer.BeginObject();
    WriteTraceFields(writer, trace);
    writer.Field("partition_id", EncodePartitionId(trace.partition_id).ToString());
    writer.Field("transaction_id", trace.txn);
    WriteOptional(writer, "queue_name", trace.queue);
    WriteOptional(writer, "partition_name", trace.partition);
    writer.EndObject();
  }
  writer.EndArray();
  writer.Field("total", listed.total);
  WritePagination(writer, page);
  writer.EndObject();
  return out;
}

std::string WriteTraceNames(const Listed<TraceName>& listed, const admin::Page& page) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("trace_names");
  writer.BeginArray();
  for (const TraceName& name : listed.items) {
    writer.BeginObject();
    writer.Field("trace_name", name.name);
    writer.Field("trace_count", name.traces);
    writer.Field("message_count", name.messages);
    writer.Field("last_seen", FormatTimestamp(name.last_seen_micros));
    writer.EndObject();
  }
  writer.EndArray();
  writer.Field("total", listed.total);
  WritePagination(writer, page);
  writer.EndObject();
  return out;
}

}  // namespace

Result<TraceRequest> ParseTrace(std::string_view body) {
  const Result<JsonValue> value = ParseJson(body);
  if (!value.ok()) return value.status();
  if (!value->is_object()) return Invalid("The body must be an object");
  TraceRequest trace;
  QUEEN_RETURN_IF_ERROR(TakeMessage(*value, trace));
  const JsonValue data = value->Find("data");
  if (data.absent()) return Invalid("data is required");
  trace.data = data.raw();
  auto group = OptionalName("consumerGroup", value->Find("consumerGroup"));
  if (!group.ok()) return group.status();
  if (*group && !(*group)->empty()) trace.group = *std::move(group);
  auto event_type = OptionalName("eventType", value->Find("eventType"));
  if (!event_type.ok()) return event_type.status();
  trace.event_type = (*event_type).value_or("");
  if (trace.event_type.empty()) trace.event_type = kEventTypeDefault;
  const JsonValue names = value->Find("traceNames");
  if (!names.absent_or_null()) QUEEN_RETURN_IF_ERROR(TakeNames(names.raw(), trace.names));
  return trace;
}

namespace {

void Record(const Context& context, TraceRequest trace, http::Reply reply) {
  context.admin.RecordTrace(std::move(trace), [reply = std::move(reply)](Result<Uuid> id) mutable {
    if (!id.ok()) {
      const bool gone = id.status().code() == Code::kNotFound;
      return reply.SendError(gone ? NoPartition() : id.status());
    }
    std::string out;
    JsonWriter writer(out);
    writer.BeginObject();
    writer.Field("success", true);
    writer.Field("traceId", id->ToString());
    writer.EndObject();
    reply.Send(http::Response::Json(201, std::move(out)));
  });
}

}  // namespace

void HandleRecordTrace(const Context& context, const http::Request& request, http::Reply reply) {
  auto trace = ParseTrace(request.body());
  if (!trace.ok()) return reply.SendError(trace.status());
  trace->worker = fmt::format("worker-{}", context.health.worker_id);
  const PartitionId partition = trace->partition;
  CheckPartitions(context, request.identity(), auth::Verb::kPop, {partition}, std::move(reply),
                  [&context, trace = *std::move(trace)](http::Reply granted) mutable {
                    Record(context, std::move(trace), std::move(granted));
                  });
}

void HandleListTraces(const Context& context, const http::Request& request, http::Reply reply) {
  const auto partition = PartitionOf(request.Param("partitionId"));
  if (!partition) return reply.Send(http::Response::Json(200, WriteTraces({})));
  context.admin.ListTraces(*partition, std::string(request.Param("transactionId")),
                           [reply = std::move(reply)](Result<std::vector<Trace>> traces) mutable {
                             if (!traces.ok()) return reply.SendError(traces.status());
                             reply.SendPage(http::Response::Json(200, WriteTraces(*traces)));
                           });
}

void HandleListTracesByName(const Context& context, const http::Request& request,
                            http::Reply reply) {
  const auto page = ParsePage(request.query());
  if (!page.ok()) return reply.SendError(page.status());
  context.admin.ListTracesByName(
      std::string(request.Param("name")), *page,
      [page = *page, reply = std::move(reply)](Result<Listed<Trace>> listed) mutable {
        if (!listed.ok()) return reply.SendError(listed.status());
        reply.SendPage(http::Response::Json(200, WriteNamedTraces(*listed, page)));
      });
}

void HandleListTraceNames(const Context& context, const http::Request& request, http::Reply reply) {
  const auto page = ParsePage(request.query());
  if (!page.ok()) return reply.SendError(page.status());
  context.admin.ListTraceNames(
      *page, [page = *page, reply = std::move(reply)](Result<Listed<TraceName>> listed) mutable {
        if (!listed.ok()) return reply.SendError(listed.status());
        reply.SendPage(http::Response::Json(200, WriteTraceNames(*listed, page)));
      });
}

}  // namespace queen::api
