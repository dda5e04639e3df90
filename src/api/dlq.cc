#include "api/dlq.h"

#include <utility>

#include "api/message_meta.h"
#include "api/query_params.h"
#include "base/clock.h"

namespace queen::api {
namespace {

using admin::DeadLetter;
using admin::DeadLetterFilter;
using admin::Listed;

void WriteDeadLetter(JsonWriter& writer, const DeadLetter& letter,
                     const storage::PayloadCipher& cipher) {
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
  writer.Key("data");
  if (meta.encrypted) {
    const Result<std::string> payload = cipher.Decrypt(letter.payload, letter.partition_id);
    writer.Raw(payload.ok() ? *payload : letter.payload);
    if (!payload.ok()) writer.Field("error", payload.status().message());
  } else {
    writer.Raw(letter.payload);
  }
  writer.Key("producerSub");
  meta.producer_sub.empty() ? writer.Null() : writer.Raw(meta.producer_sub);
  writer.Field("createdAt", FormatTimestamp(letter.created_micros));
  writer.Field("failedAt", FormatTimestamp(letter.failed_micros));
  writer.EndObject();
}

}  // namespace

Result<DeadLetterFilter> ParseDeadLetterFilter(const http::Query& query) {
  DeadLetterFilter filter;
  QUEEN_RETURN_IF_ERROR(TakeName(query, "queue", filter.queue));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "consumerGroup", filter.group));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "partition", filter.partition));
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "from", filter.from_micros));
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "to", filter.to_micros));
  const Result<admin::Page> page = ParsePage(query);
  if (!page.ok()) return page.status();
  filter.page = *page;
  return filter;
}

std::string WriteDeadLetters(const Listed<DeadLetter>& listed, const admin::Page& page,
                             const storage::PayloadCipher& cipher) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("messages");
  writer.BeginArray();
  for (const DeadLetter& letter : listed.items) WriteDeadLetter(writer, letter, cipher);
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
  context.admin.ListDeadLetters(*filter, [&context, page = filter->page, reply = std::move(reply)](
                                             Result<Listed<DeadLetter>> listed) mutable {
    if (!listed.ok()) return reply.SendError(listed.status());
    reply.SendIfRoom(http::Response::Json(200, WriteDeadLetters(*listed, page, context.cipher)));
  });
}

}  // namespace queen::api
