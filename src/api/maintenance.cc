#include "api/maintenance.h"

#include <utility>

#include "api/context.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

void Set(const Context& context, state::MaintenanceMode mode, const http::Request& request,
         http::Reply reply) {
  const Result<bool> enabled = ParseMaintenance(request.body());
  if (!enabled.ok()) return reply.SendError(enabled.status());
  context.admin.SetMaintenance(
      mode, *enabled, [&context, reply = std::move(reply)](const Result<bool>& set) mutable {
        if (!set.ok()) return reply.SendError(set.status());
        reply.Send(http::Response::Json(200, WriteMaintenance(context.maintenance())));
      });
}

}  // namespace

Result<bool> ParseMaintenance(std::string_view body) {
  JsonValue enabled;
  if (!body.empty()) {
    const Result<JsonValue> value = ParseJson(body);
    if (!value.ok()) return value.status();
    enabled = value->Find("enabled");
  }
  if (!enabled.is_bool()) return Status(Code::kInvalidRequest, "enabled must be true or false");
  return enabled.Bool();
}

void WriteFailedFiles(JsonWriter& writer, const MaintenanceStatus& status) {
  writer.Key("failedFiles");
  writer.BeginObject();
  writer.Field("count", status.failed_files);
  writer.Field("totalBytes", status.failed_bytes);
  writer.EndObject();
}

std::string WriteMaintenance(const MaintenanceStatus& status) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("maintenanceMode", status.push_paused);
  writer.Field("popMaintenanceMode", status.pop_paused);
  writer.Field("bufferedMessages", status.buffered_messages);
  writer.Field("bufferHealthy", status.buffer_healthy);
  writer.Key("bufferStats");
  writer.BeginObject();
  writer.Field("pendingCount", status.buffered_messages);
  writer.Field("failedCount", status.failed_messages);
  writer.Field("dbHealthy", status.database_up);
  WriteFailedFiles(writer, status);
  writer.EndObject();
  writer.EndObject();
  return out;
}

void HandleMaintenance(const Context& context, const http::Request& /*request*/,
                       http::Reply reply) {
  reply.Send(http::Response::Json(200, WriteMaintenance(context.maintenance())));
}

void HandleSetPushMaintenance(const Context& context, const http::Request& request,
                              http::Reply reply) {
  Set(context, state::MaintenanceMode::kPush, request, std::move(reply));
}

void HandleSetPopMaintenance(const Context& context, const http::Request& request,
                             http::Reply reply) {
  Set(context, state::MaintenanceMode::kPop, request, std::move(reply));
}

}  // namespace queen::api
