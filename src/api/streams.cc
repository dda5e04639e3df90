#include "api/streams.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "api/ack_item.h"
#include "api/authorize.h"
#include "api/names.h"
#include "api/push.h"
#include "api/request_trace.h"
#include "base/clock.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using sidecar::PushOutcome;
using sidecar::StreamCycle;
using sidecar::StreamQueryRequest;
using sidecar::StreamQueryResult;
using sidecar::StreamState;
using sidecar::StreamStateRequest;
using sidecar::StreamStateRow;
using sidecar::TransactionAck;
using sidecar::TransactionRequest;
using sidecar::TransactionResult;

// State of this size is read without asking for room first: nearly all that is ever asked for.
constexpr int64_t kStateBytesFirst = int64_t{64} << 10;
// The reply of a cycle without the results of its pushes.
constexpr size_t kCycleBytes = 1'000;

Status Invalid(std::string_view field, std::string_view rule) {
  return Status(Code::kInvalidRequest, fmt::format("{} {}", field, rule));
}

// A name that may be left out: "" then.
Result<std::string> OptionalName(const JsonValue& body, std::string_view field,
                                 JsonScratch& scratch) {
  const JsonValue value = body.Find(field);
  if (value.absent_or_null()) return std::string();
  if (!value.is_string()) return Invalid(field, "must be a string");
  const JsonText name = value.Text(scratch);
  QUEEN_RETURN_IF_ERROR(CheckName(field, name));
  return std::string(name.text);
}

Result<std::string> RequiredName(const JsonValue& body, std::string_view field,
                                 JsonScratch& scratch) {
  Result<std::string> name = OptionalName(body, field, scratch);
  if (name.ok() && name->empty()) return Invalid(field, "is required");
  return name;
}

Result<bool> Flag(const JsonValue& body, std::string_view field, bool otherwise) {
  const JsonValue value = body.Find(field);
  if (value.absent_or_null()) return otherwise;
  if (!value.is_bool()) return Invalid(field, "must be true or false");
  return value.raw() == "true";
}

Result<Uuid> RequiredUuid(const JsonValue& body, std::string_view field, JsonScratch& scratch) {
  const JsonValue value = body.Find(field);
  if (value.absent_or_null()) return Invalid(field, "is required");
  std::optional<Uuid> uuid;
  if (value.is_string()) uuid = Uuid::Parse(value.Text(scratch).text);
  if (!uuid) return Invalid(field, "must be a UUID");
  return *uuid;
}

// What is a UUID but none of our partitions' is nobody's partition.
Result<PartitionId> RequiredPartition(const JsonValue& body, JsonScratch& scratch) {
  const Result<Uuid> uuid = RequiredUuid(body, "partition_id", scratch);
  if (!uuid.ok()) return uuid.status();
  const std::optional<PartitionId> partition = DecodePartitionId(*uuid);
  if (!partition) return Status(Code::kNotFound, "No such partition");
  return *partition;
}

// The list of that name; null and absent are none.
Status CheckList(const JsonValue& list, std::string_view field) {
  if (list.absent_or_null() || list.is_array()) return Status::Ok();
  return Invalid(field, "must be an array");
}

// ---- cycle

// A window that ends at no number never is ripe.
std::string WindowEndOf(const JsonValue& value) {
  const JsonValue end = value.Find("windowEnd");
  if (!end.is_number()) return {};
  const Result<double> number = end.Double();
  return number.ok() ? fmt::format("{}", *number) : std::string();
}

Status ReadStateOp(const JsonValue& value, JsonScratch& scratch, StreamCycle& cycle) {
  const JsonValue type = value.Find("type");
  const std::string_view name = type.is_string() ? type.Text(scratch).text : std::string_view();
  if (name != "upsert" && name != "delete") {
    return Invalid("state_ops.type", "must be upsert or delete");
  }
  const JsonValue key = value.Find("key");
  if (!key.is_string()) return Invalid("state_ops.key", "must be a string");
  const JsonText text = key.Text(scratch);
  QUEEN_RETURN_IF_ERROR(CheckStateKey("state_ops.key", text));
  if (cycle.ops.size() == kStateOpsMax) {
    return Status(Code::kPayloadTooLarge,
                  fmt::format("A cycle has at most {} state_ops", kStateOpsMax));
  }
  StreamCycle::StateOp& op = cycle.ops.emplace_back();
  op.key = text.text;
  if (name == "delete") return Status::Ok();
  const JsonValue state = value.Find("value");
  op.value = state.absent() ? std::string_view("null") : state.raw();
  op.window_end = WindowEndOf(state);
  return Status::Ok();
}

Status ReadStateOps(const JsonValue& list, JsonScratch& scratch, StreamCycle& cycle) {
  QUEEN_RETURN_IF_ERROR(CheckList(list, "state_ops"));
  if (!list.is_array()) return Status::Ok();
  JsonReader reader(list.raw());
  reader.EnterArray();
  while (reader.NextElement()) QUEEN_RETURN_IF_ERROR(ReadStateOp(reader.Value(), scratch, cycle));
  return Status::Ok();
}

Status ReadCyclePushes(const JsonValue& list, const Producer& producer, TransactionRequest& cycle) {
  QUEEN_RETURN_IF_ERROR(CheckList(list, "push_items"));
  if (!list.is_array()) return Status::Ok();
  JsonReader reader(list.raw());
  reader.EnterArray();
  return ReadPushItems(reader, producer, cycle.scratch, cycle.pushes);
}

// The one ack of a cycle, with no transactionId when there is none to make. The text says why it
// cannot be right.
Result<std::string> ReadCycleAck(const JsonValue& body, PartitionId partition,
                                 TransactionRequest& cycle) {
  const JsonValue value = body.Find("ack");
  if (!value.absent_or_null() && !value.is_object()) {
    return Invalid("ack", "must be an object or null");
  }
  AckFields fields;
  fields.transaction_id = value.Find("transactionId");
  fields.status = value.Find("status");
  fields.lease_id = value.Find("leaseId");
  fields.error = value.Find("error");
  fields.partition_id = body.Find("partition_id");
  if (value.is_object() && !fields.transaction_id.is_string()) {
    return Invalid("ack.transactionId", "is required");
  }
  Result<std::string> group = OptionalName(body, "consumer_group", cycle.scratch);
  if (!group.ok()) return group;
  TransactionAck ack;
  std::string refusal;
  if (value.is_object()) {
    ack.item = MakeAckItem(fields, cycle.scratch);
    refusal = ack.item.error;
  }
  ack.item.partition = partition;
  ack.item.cumulative = true;
  ack.group_of_lease = group->empty() && ack.item.lease_id;
  if (!group->empty()) ack.item.group = *std::move(group);
  cycle.acks.push_back(std::move(ack));
  return refusal;
}

void BeginCycleReply(JsonWriter& writer, bool success, const TransactionRequest& cycle) {
  writer.BeginObject();
  writer.Field("success", success);
  writer.Field("query_id", cycle.cycle->query_id.ToString());
  writer.Field("partition_id", EncodePartitionId(*cycle.acks[0].item.partition).ToString());
}

http::Response CycleRefused(const TransactionRequest& cycle, std::string_view why) {
  http::Response response = http::Response::Json(200, {});
  JsonWriter writer(response.body);
  BeginCycleReply(writer, false, cycle);
  writer.Field("error", why);
  writer.Field("state_ops_applied", 0);
  writer.Key("push_results");
  writer.Raw("[]");
  writer.Key("ack_result");
  writer.Null();
  writer.EndObject();
  return response;
}

http::Response CycleApplied(const TransactionRequest& cycle, const TransactionResult& result) {
  std::vector<PushOutcome> outcomes;
  outcomes.reserve(result.pushed.size());
  for (const MessageId& id : result.pushed) {
    outcomes.push_back({PushOutcome::Status::kQueued, id, {}});
  }
  http::Response response = http::Response::Json(200, {});
  JsonWriter writer(response.body);
  BeginCycleReply(writer, true, cycle);
  writer.Field("queueName", result.cycle.queue_name);
  writer.Field("state_ops_applied", static_cast<int64_t>(cycle.cycle->ops.size()));
  writer.Key("push_results");
  writer.Raw(WritePushReply(cycle.pushes, outcomes));
  writer.Key("ack_result");
  if (cycle.acks[0].item.txn.empty()) {
    writer.Null();
  } else {
    writer.BeginObject();
    writer.Field("success", true);
    writer.Field("count", static_cast<int64_t>(result.cycle.settled));
    writer.Field("lease_released", result.cycle.released);
    writer.Field("dlq", static_cast<bool>(result.dead_lettered[0]));
    writer.EndObject();
  }
  writer.EndObject();
  return response;
}

// ---- state

http::Response WriteState(const StreamState& state) {
  http::Response response = http::Response::Json(200, {});
  JsonWriter writer(response.body);
  writer.BeginObject();
  writer.Field("success", true);
  writer.Key("rows");
  writer.BeginArray();
  for (const StreamStateRow& row : state.rows) {
    writer.BeginObject();
    writer.Field("key", row.key);
    writer.Key("value");
    writer.Raw(row.value);
    writer.Field("updated_at", FormatTimestamp(row.updated_micros));
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return response;
}

// State of more than bytes_max is asked for again once there is room for it.
void AskForState(const Context& context, StreamStateRequest request, http::Reply reply) {
  StreamStateRequest again = request;
  context.engine.GetStreamState(
      std::move(request), [&context, again = std::move(again),
                           reply = std::move(reply)](const Result<StreamState>& state) mutable {
        if (!state.ok()) return reply.SendError(state.status());
        if (state->bytes <= again.bytes_max) return reply.SendIfRoom(WriteState(*state));
        const Status room = reply.TakeRoom(static_cast<size_t>(state->bytes));
        if (!room.ok()) return reply.SendError(room);
        again.bytes_max = state->bytes;
        AskForState(context, std::move(again), std::move(reply));
      });
}

// ---- cycle

void AnswerCycle(http::Reply& reply, const TransactionRequest& cycle,
                 const TransactionResult& result) {
  const Code code = result.refusal.code();
  if (code == Code::kOk) return reply.Send(CycleApplied(cycle, result));
  if (code == Code::kNotFound || code == Code::kStreamQueryNotFound) {
    return reply.SendError(result.refusal);
  }
  if (code == Code::kDuplicateTransactionId) {
    return reply.Send(CycleRefused(cycle, "Duplicate transactionId: " + result.reason));
  }
  reply.Send(CycleRefused(cycle, result.refusal.message()));
}

void ExecuteCycle(const Context& context, TransactionRequest cycle, http::Reply reply) {
  cycle.done = [reply = std::move(reply)](TransactionRequest& done,
                                          const Result<TransactionResult>& result) mutable {
    if (!result.ok()) return reply.SendError(result.status());
    AnswerCycle(reply, done, *result);
  };
  context.engine.Transaction(std::move(cycle));
}

// ---- queries

void Register(const Context& context, StreamQueryRequest query, http::Reply reply) {
  std::string name = query.name;
  std::string hash = query.config_hash;
  context.engine.RegisterStreamQuery(
      std::move(query), [name = std::move(name), hash = std::move(hash), reply = std::move(reply)](
                            const Result<StreamQueryResult>& result) mutable {
        if (!result.ok()) return reply.SendError(result.status());
        http::Response response = http::Response::Json(200, {});
        JsonWriter writer(response.body);
        writer.BeginObject();
        writer.Field("success", true);
        writer.Field("query_id", result->id.ToString());
        writer.Field("name", name);
        writer.Field("config_hash", hash);
        writer.Field("fresh", result->fresh);
        writer.Field("reset", result->reset);
        writer.EndObject();
        reply.Send(std::move(response));
      });
}

// Goes on if the caller may use both the partition and the query.
void CheckUse(const Context& context, const auth::Identity& who, auth::Verb sink_verb, Uuid query,
              PartitionId partition, http::Reply reply, UniqueFunction<void(http::Reply)> go_on) {
  CheckPartitions(
      context, who, auth::Verb::kPop, {partition}, std::move(reply),
      [&context, who, sink_verb, query, go_on = std::move(go_on)](http::Reply granted) mutable {
        CheckStreamQuery(context, who, sink_verb, {.id = query, .name = {}}, std::move(granted),
                         [go_on = std::move(go_on)](StreamQueryIs, http::Reply free) mutable {
                           go_on(std::move(free));
                         });
      });
}

}  // namespace

// ---- queries

Result<StreamQueryRequest> ParseStreamQuery(std::string_view text) {
  const Result<JsonValue> body = ParseJson(text);
  if (!body.ok()) return body.status();
  JsonScratch scratch;
  Result<std::string> name = RequiredName(*body, "name", scratch);
  if (!name.ok()) return name.status();
  Result<std::string> source = RequiredName(*body, "source_queue", scratch);
  if (!source.ok()) return source.status();
  Result<std::string> hash = RequiredName(*body, "config_hash", scratch);
  if (!hash.ok()) return hash.status();
  Result<std::string> sink = OptionalName(*body, "sink_queue", scratch);
  if (!sink.ok()) return sink.status();
  const Result<bool> reset = Flag(*body, "reset", false);
  if (!reset.ok()) return reset.status();
  return StreamQueryRequest{*std::move(name), *std::move(source), *std::move(sink),
                            *std::move(hash), *reset};
}

void HandleStreamQuery(const Context& context, const http::Request& request, http::Reply reply) {
  Result<StreamQueryRequest> query = ParseStreamQuery(request.body());
  if (!query.ok()) return reply.SendError(query.status());
  Status granted = CheckQueue(request.identity(), auth::Verb::kPop, query->source_queue);
  if (granted.ok() && !query->sink_queue.empty()) {
    granted = CheckQueue(request.identity(), auth::Verb::kPush, query->sink_queue);
  }
  if (!granted.ok()) return reply.SendError(granted);
  admin::StreamQueryName name{.id = {}, .name = query->name};
  CheckStreamQuery(
      context, request.identity(), auth::Verb::kPush, std::move(name), std::move(reply),
      [&context, query = *std::move(query)](StreamQueryIs is, http::Reply free) mutable {
        // One that others register meanwhile is theirs, and is not wiped.
        if (is == StreamQueryIs::kAbsent) query.reset = false;
        Register(context, std::move(query), std::move(free));
      });
}

// ---- cycle

Result<std::string> ParseStreamCycle(const Producer& producer, TransactionRequest& cycle) {
  const Result<JsonValue> body = ParseJson(cycle.body);
  if (!body.ok()) return body.status();
  const Result<Uuid> query_id = RequiredUuid(*body, "query_id", cycle.scratch);
  if (!query_id.ok()) return query_id.status();
  const Result<PartitionId> partition = RequiredPartition(*body, cycle.scratch);
  if (!partition.ok()) return partition.status();
  const Result<bool> release = Flag(*body, "release_lease", true);
  if (!release.ok()) return release.status();
  cycle.cycle = StreamCycle{*query_id, *release, {}};
  QUEEN_RETURN_IF_ERROR(ReadStateOps(body->Find("state_ops"), cycle.scratch, *cycle.cycle));
  QUEEN_RETURN_IF_ERROR(ReadCyclePushes(body->Find("push_items"), producer, cycle));
  Result<std::string> refusal = ReadCycleAck(*body, *partition, cycle);
  if (!refusal.ok() || !refusal->empty()) return refusal;
  for (const sidecar::PushItem& item : cycle.pushes) {
    if (!item.error.empty()) return item.error;
  }
  return std::string();
}

void HandleStreamCycle(const Context& context, http::Request& request, http::Reply reply) {
  TransactionRequest cycle;
  cycle.body = request.TakeBody();
  cycle.trace = TraceOf(context, request);
  const std::string trace_headers = TraceHeaders(cycle.trace, request);
  const Result<std::string> refusal =
      ParseStreamCycle({request.identity().subject, trace_headers}, cycle);
  if (!refusal.ok()) return reply.SendError(refusal.status());
  const Status granted = CheckPushes(request.identity(), cycle.pushes);
  if (!granted.ok()) return reply.SendError(granted);
  if (!refusal->empty()) return reply.Send(CycleRefused(cycle, *refusal));
  const Status room = reply.TakeRoom(kCycleBytes + PushReplyBytes(cycle.pushes));
  if (!room.ok()) return reply.SendError(room);
  const PartitionId partition = *cycle.acks[0].item.partition;
  const Uuid query = cycle.cycle->query_id;
  CheckUse(context, request.identity(), auth::Verb::kPush, query, partition, std::move(reply),
           [&context, cycle = std::move(cycle)](http::Reply free) mutable {
             ExecuteCycle(context, std::move(cycle), std::move(free));
           });
}

// ---- state

Result<StreamStateRequest> ParseStreamState(std::string_view text) {
  const Result<JsonValue> body = ParseJson(text);
  if (!body.ok()) return body.status();
  JsonScratch scratch;
  StreamStateRequest state;
  const Result<Uuid> query_id = RequiredUuid(*body, "query_id", scratch);
  if (!query_id.ok()) return query_id.status();
  state.query_id = *query_id;
  const Result<PartitionId> partition = RequiredPartition(*body, scratch);
  if (!partition.ok()) return partition.status();
  state.partition = *partition;
  const JsonValue keys = body->Find("keys");
  QUEEN_RETURN_IF_ERROR(CheckList(keys, "keys"));
  if (keys.is_array()) {
    JsonReader reader(keys.raw());
    reader.EnterArray();
    while (reader.NextElement()) {
      const JsonValue key = reader.Value();
      if (!key.is_string()) return Invalid("keys", "must be an array of strings");
      const JsonText key_text = key.Text(scratch);
      QUEEN_RETURN_IF_ERROR(CheckStateKey("keys", key_text));
      if (state.keys.size() == kStateKeysMax) {
        return Status(Code::kPayloadTooLarge, "Too many keys");
      }
      state.keys.emplace_back(key_text.text);
    }
  }
  const JsonValue prefix = body->Find("key_prefix");
  if (!prefix.absent_or_null()) {
    if (!prefix.is_string()) return Invalid("key_prefix", "must be a string");
    const JsonText prefix_text = prefix.Text(scratch);
    QUEEN_RETURN_IF_ERROR(CheckStateKey("key_prefix", prefix_text));
    state.key_prefix = prefix_text.text;
  }
  const JsonValue ripe = body->Find("ripe_at_or_before");
  if (!ripe.absent_or_null()) {
    const Result<double> millis = ripe.Double();
    if (!millis.ok()) return Invalid("ripe_at_or_before", millis.status().message());
    state.ripe_at = fmt::format("{}", *millis);
  }
  return state;
}

void HandleStreamState(const Context& context, const http::Request& request, http::Reply reply) {
  Result<StreamStateRequest> state = ParseStreamState(request.body());
  if (!state.ok()) return reply.SendError(state.status());
  state->bytes_max = kStateBytesFirst;
  const PartitionId partition = state->partition;
  const Uuid query = state->query_id;
  CheckUse(context, request.identity(), auth::Verb::kSee, query, partition, std::move(reply),
           [&context, state = *std::move(state)](http::Reply granted) mutable {
             AskForState(context, std::move(state), std::move(granted));
           });
}

}  // namespace queen::api
