#include "api/health.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "http/response.h"

namespace queen::api {
namespace {

// The members of every error.
void AddError(JsonWriter& writer, const Status& status) {
  writer.Field("error", fmt::format("{}: {}", status.message(), http::kRefusedText));
  writer.Field("code", InfoOf(status.code()).name);
}

}  // namespace

void HandleLivez(http::Reply reply) {
  reply.Send(http::Response::Json(200, R"({"status":"alive"})"));
}

void HandleReadyz(const HealthSource& source, http::Reply reply) {
  const Status readiness = source.check().readiness;
  if (readiness.ok()) return reply.Send(http::Response::Json(200, R"({"status":"ready"})"));
  http::Response response = http::Response::Json(503, {});
  JsonWriter writer(response.body);
  writer.BeginObject();
  writer.Field("status", "unready");
  AddError(writer, readiness);
  writer.EndObject();
  reply.Send(std::move(response));
}

void HandleHealth(const HealthSource& source, http::Reply reply) {
  const Health health = source.check();
  const bool healthy = health.database_connected;
  const char* const status = healthy ? "healthy" : "unhealthy";
  http::Response response = http::Response::Json(healthy ? 200 : 503, {});
  JsonWriter writer(response.body);
  writer.BeginObject();
  writer.Field("status", status);
  writer.Field("database", healthy ? "connected" : "disconnected");
  writer.Field("server", source.server);
  writer.Field("worker_id", source.worker_id);
  writer.Field("version", source.version);
  writer.Key("shared_state");
  writer.Raw(health.shared_state);
  writer.Key("queen");
  writer.BeginObject();
  writer.Field("worker_id", source.worker_id);
  writer.Field("status", status);
  writer.EndObject();
  if (!healthy) AddError(writer, Status(Code::kDatabaseUnavailable, health.database_problem));
  writer.EndObject();
  reply.Send(std::move(response));
}

}  // namespace queen::api
