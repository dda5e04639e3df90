#include "api/dlq.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/authorize.h"
#include "api/message_meta.h"
#include "api/payload_cut.h"
#include "api/query_params.h"
#include "api/timestamp.h"
#include "base/clock.h"

namespace queen::api {
namespace {

using admin::DeadLetter;
using admin::DeadLetterFilter;
using admin::DeadLetterProgress;
using admin::Listed;

void WriteDeadLetter(JsonWriter& writer, const DeadLetter& letter,
                     const storage::PayloadCipher& cipher, std::optional<int64_t> payload_max) {
  writer.BeginObject();
  writer.Field("id", letter.id.ToString());
  writer.Field("transactionId", letter.txn);
  writer.Field("partitionId", EncodePartitionId(letter.partition_id).ToString());
  writer.Field("queue", letter.queue);
  writer.Field("partition", letter.partition);
  writer.Field("consumerGroup", letter.group);
  WriteOptional(writer, "errorMessage", letter.error);
  writer.Field("retryCount", letter.retry_count);
  const MessageMeta meta = ReadMessageMeta(letter.meta);
  if (meta.encrypted) {
    const Result<std::string> payload = cipher.Decrypt(letter.payload, letter.partition_id);
    WritePayload(writer, "data", payload.ok() ? *payload : letter.payload, payload_max);
    if (!payload.ok()) writer.Field("error", payload.status().message());
  } else {
    WritePayload(writer, "data", letter.payload, payload_max);
  }
  writer.Key("producerSub");
  meta.producer_sub.empty() ? writer.Null() : writer.Raw(meta.producer_sub);
  writer.Field("createdAt", FormatTimestamp(letter.created_micros));
  writer.Field("failedAt", FormatTimestamp(letter.failed_micros));
  writer.EndObject();
}

Status TakeFilters(const http::Query& query, DeadLetterFilter& filter) {
  QUEEN_RETURN_IF_ERROR(TakeName(query, "queue", filter.queue));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "consumerGroup", filter.group));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "partition", filter.partition));
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "from", filter.from_micros));
  return TakeTime(query, "to", filter.to_micros);
}

// A name of the body wins over that of the query; "" is as good as none.
Status TakeBodyName(const JsonValue& body, std::string_view field,
                    std::optional<std::string>& out) {
  auto name = OptionalName(field, body.Find(field));
  if (!name.ok()) return name.status();
  if (*name && !(*name)->empty()) out = *std::move(name);
  return Status::Ok();
}

Status TakeBodyTime(const JsonValue& body, std::string_view field, std::optional<int64_t>& micros) {
  std::optional<std::string> text;
  QUEEN_RETURN_IF_ERROR(TakeBodyName(body, field, text));
  if (!text) return Status::Ok();
  micros = ParseTimestamp(*text);
  if (micros) return Status::Ok();
  return Status(Code::kInvalidRequest, fmt::format("{} must be an RFC 3339 time or a date", field));
}

Status TakeBodyFilters(const JsonValue& body, DeadLetterFilter& filter) {
  QUEEN_RETURN_IF_ERROR(TakeBodyName(body, "queue", filter.queue));
  QUEEN_RETURN_IF_ERROR(TakeBodyName(body, "consumerGroup", filter.group));
  QUEEN_RETURN_IF_ERROR(TakeBodyName(body, "partition", filter.partition));
  QUEEN_RETURN_IF_ERROR(TakeBodyTime(body, "from", filter.from_micros));
  return TakeBodyTime(body, "to", filter.to_micros);
}

// Too large a number is as good as the largest; none or less is no wish that could be done.
Status TakeLimit(const http::Query& query, const JsonValue& body, int32_t& limit) {
  const JsonValue said = body.Find("limit");
  const Result<int64_t> number =
      said.absent_or_null() ? query.Int("limit", kDeadLetterChangesDefault) : said.Int64();
  if (!number.ok()) {
    return Status(number.status().code(), said.absent_or_null()
                                              ? number.status().message()
                                              : "limit " + number.status().message());
  }
  if (*number < 1) return Status(Code::kInvalidRequest, "limit must be at least 1");
  limit = static_cast<int32_t>(std::min<int64_t>(*number, kDeadLetterChangesMax));
  return Status::Ok();
}

Status CheckFilter(const auth::Identity& who, const DeadLetterFilter& filter) {
  if (!filter.queue) return CheckAllQueues(who, auth::Verb::kAdmin);
  return CheckQueue(who, auth::Verb::kAdmin, *filter.queue);
}

bool NamesNothing(const DeadLetterFilter& filter) {
  return !filter.queue && !filter.group && !filter.partition && !filter.from_micros &&
         !filter.to_micros;
}

std::string WriteProgress(std::string_view changed, const DeadLetterProgress& progress) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("success", true);
  writer.Field(changed, progress.changed);
  writer.Field("remaining", progress.remaining);
  writer.Field("more", progress.remaining > 0);
  writer.Field("to", FormatTimestamp(progress.to_micros));
  writer.EndObject();
  return out;
}

}  // namespace

Result<DeadLetterFilter> ParseDeadLetterChange(const http::Query& query, std::string_view body) {
  const Result<JsonValue> value = ParseOptionalBody(body);
  if (!value.ok()) return value.status();
  DeadLetterFilter filter;
  QUEEN_RETURN_IF_ERROR(TakeFilters(query, filter));
  QUEEN_RETURN_IF_ERROR(TakeBodyFilters(*value, filter));
  QUEEN_RETURN_IF_ERROR(TakeLimit(query, *value, filter.page.limit));
  return filter;
}

Result<DeadLetterFilter> ParseDeadLetterFilter(const http::Query& query) {
  DeadLetterFilter filter;
  QUEEN_RETURN_IF_ERROR(TakeFilters(query, filter));
  const Result<admin::Page> page = ParsePage(query);
  if (!page.ok()) return page.status();
  filter.page = *page;
  return filter;
}

std::string WriteDeadLetters(const Listed<DeadLetter>& listed, const admin::Page& page,
                             const storage::PayloadCipher& cipher,
                             std::optional<int64_t> payload_max) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("messages");
  writer.BeginArray();
  for (const DeadLetter& letter : listed.items) {
    WriteDeadLetter(writer, letter, cipher, payload_max);
  }
  writer.EndArray();
  writer.Field("total", listed.total);
  WritePagination(writer, page);
  writer.EndObject();
  return out;
}

void HandleListDeadLetters(const Context& context, const http::Request& request,
                           http::Reply reply) {
  const auto filter = ParseDeadLetterFilter(request.query());
  if (!filter.ok()) return reply.SendError(filter.status());
  const auto payload_max = ParsePayloadMax(request.query());
  if (!payload_max.ok()) return reply.SendError(payload_max.status());
  context.admin.ListDeadLetters(
      *filter, [&context, page = filter->page, payload_max = *payload_max,
                reply = std::move(reply)](Result<Listed<DeadLetter>> listed) mutable {
        if (!listed.ok()) return reply.SendError(listed.status());
        reply.SendPage(http::Response::Json(
            200, WriteDeadLetters(*listed, page, context.cipher, payload_max)));
      });
}

void HandleRedriveDeadLetters(const Context& context, const http::Request& request,
                              http::Reply reply) {
  auto filter = ParseDeadLetterChange(request.query(), request.body());
  if (!filter.ok()) return reply.SendError(filter.status());
  if (const Status granted = CheckFilter(request.identity(), *filter); !granted.ok()) {
    return reply.SendError(granted);
  }
  context.admin.RedriveDeadLetters(
      *std::move(filter),
      [&context, reply = std::move(reply)](Result<DeadLetterProgress> progress) mutable {
        if (!progress.ok()) {
          context.engine.QueueChanged(std::nullopt);  // some may have been pushed
          return reply.SendError(progress.status());
        }
        for (const std::string& queue : progress->queues) context.engine.QueueChanged(queue);
        reply.Send(http::Response::Json(200, WriteProgress("redriven", *progress)));
      });
}

void HandlePurgeDeadLetters(const Context& context, const http::Request& request,
                            http::Reply reply) {
  auto filter = ParseDeadLetterChange(request.query(), request.body());
  if (!filter.ok()) return reply.SendError(filter.status());
  if (const Status granted = CheckFilter(request.identity(), *filter); !granted.ok()) {
    return reply.SendError(granted);
  }
  const Result<bool> all = request.query().Bool("all");
  if (!all.ok()) return reply.SendError(all.status());
  if (NamesNothing(*filter) && !*all) {
    return reply.SendError(
        Status(Code::kInvalidRequest,
               "Say what to purge: queue, consumerGroup, partition, from or to, or all=true"));
  }
  context.admin.PurgeDeadLetters(
      *std::move(filter), [reply = std::move(reply)](Result<DeadLetterProgress> progress) mutable {
        if (!progress.ok()) return reply.SendError(progress.status());
        reply.Send(http::Response::Json(200, WriteProgress("purged", *progress)));
      });
}

}  // namespace queen::api
