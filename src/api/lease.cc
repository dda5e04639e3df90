#include "api/lease.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/query_params.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using sidecar::RenewRequest;
using sidecar::RenewResult;

std::string_view ErrorOf(RenewResult::State state) {
  switch (state) {
    case RenewResult::State::kRenewed:
      return "";
    case RenewResult::State::kExpired:
      return "Lease already expired";
    case RenewResult::State::kUnknown:
      break;
  }
  return "Lease not found";
}

}  // namespace

Result<int32_t> ParseExtendLease(std::string_view body) {
  const Result<JsonValue> value = ParseOptionalBody(body);
  if (!value.ok()) return value.status();
  if (value->absent()) return 0;
  const JsonValue seconds = value->Find("seconds");
  if (seconds.absent_or_null()) return 0;
  const Result<int64_t> number = seconds.Int64();
  if (!number.ok()) {
    return Status(Code::kInvalidRequest, "seconds " + number.status().message());
  }
  if (*number < 0) return Status(Code::kInvalidRequest, "seconds must not be negative");
  return static_cast<int32_t>(std::min(*number, kExtendSecondsMax));
}

http::Response WriteExtendLeaseReply(std::string_view lease_id, const RenewResult& result) {
  const bool renewed = result.state == RenewResult::State::kRenewed;
  http::Response response = http::Response::Json(renewed ? 200 : 404, {});
  JsonWriter writer(response.body);
  writer.BeginObject();
  writer.Field("leaseId", lease_id);
  writer.Field("success", renewed);
  writer.Key("error");
  renewed ? writer.Null() : writer.String(ErrorOf(result.state));
  const std::string until = renewed ? FormatTimestamp(result.until_micros) : std::string();
  for (const std::string_view key : {"expiresAt", "newExpiresAt", "lease_expires_at"}) {
    writer.Key(key);
    renewed ? writer.String(until) : writer.Null();
  }
  writer.EndObject();
  return response;
}

void HandleExtendLease(const Context& context, const http::Request& request, http::Reply reply) {
  const Result<int32_t> seconds = ParseExtendLease(request.body());
  if (!seconds.ok()) return reply.SendError(seconds.status());
  std::string text(request.Param("leaseId"));
  const std::optional<Uuid> lease_id = Uuid::Parse(text);
  if (!lease_id) return reply.Send(WriteExtendLeaseReply(text, RenewResult()));
  context.engine.Renew(
      RenewRequest{.lease_id = *lease_id, .seconds = *seconds},
      [text = std::move(text), reply = std::move(reply)](Result<RenewResult> result) mutable {
        if (!result.ok()) return reply.SendError(result.status());
        reply.Send(WriteExtendLeaseReply(text, *result));
      });
}

}  // namespace queen::api
