#include "api/pop.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "api/late_reply.h"
#include "api/names.h"
#include "api/pop_reply.h"
#include "api/query_params.h"
#include "api/request_trace.h"
#include "api/subscription.h"
#include "base/clock.h"

namespace queen::api {
namespace {

using http::Query;
using sidecar::PopRequest;
using sidecar::PopResult;

// Numbers out of range are moved into it; what is no number is refused.
template <typename Number>
Status TakeNumber(const Query& query, std::string_view name, int64_t low, int64_t high,
                  Number& number) {
  const Result<int64_t> value = query.Int(name, number);
  if (!value.ok()) return value.status();
  number = static_cast<Number>(std::clamp(*value, low, high));
  return Status::Ok();
}

Status TakeSource(const http::Request& request, PopRequest& pop) {
  pop.queue = request.Param("queue");
  if (!pop.queue.empty()) {
    QUEEN_RETURN_IF_ERROR(CheckName("queue", pop.queue));
    const std::string_view partition = request.Param("partition");
    if (!partition.empty()) pop.partition = partition;
    return CheckName("partition", partition);
  }
  QUEEN_RETURN_IF_ERROR(TakeName(request.query(), "namespace", pop.namespace_name));
  QUEEN_RETURN_IF_ERROR(TakeName(request.query(), "task", pop.task));
  if (pop.namespace_name || pop.task) return Status::Ok();
  return Status(Code::kInvalidRequest, "namespace or task is required");
}

Status TakeGroup(const Query& query, int64_t now_micros, PopRequest& pop) {
  std::optional<std::string> group;
  QUEEN_RETURN_IF_ERROR(TakeName(query, "consumerGroup", group));
  const auto subscription =
      ParseSubscription(query.Get("subscriptionMode"), query.Get("subscriptionFrom"), now_micros);
  if (!subscription.ok()) return subscription.status();
  // Without a group of its own a consumer always starts at the oldest message.
  if (!group || *group == sidecar::kQueueModeGroup) return Status::Ok();
  pop.group = *std::move(group);
  pop.start_mode = subscription->mode;
  pop.start_micros = subscription->micros;
  return Status::Ok();
}

Status TakeWait(const Query& query, PopRequest& pop) {
  int64_t timeout_ms = kPopTimeoutMsDefault;
  QUEEN_RETURN_IF_ERROR(TakeNumber(query, "timeout", 0, kPopTimeoutMsMax, timeout_ms));
  const Result<bool> wait = query.Bool("wait");
  if (!wait.ok()) return wait.status();
  if (!*wait) return Status::Ok();
  pop.wait_ms = timeout_ms >= kPopEarlyFromMs ? timeout_ms - kPopEarlyMs : timeout_ms;
  return Status::Ok();
}

// Whether whoever sent it loops over long polls. One who misspells `wait` may well do.
bool MayWait(const Query& query) {
  const Result<bool> wait = query.Bool("wait");
  return !wait.ok() || *wait;
}

// A pop that the engine has. Its answer, the client's leaving and the end of its token all need it.
struct Underway {
  http::Reply reply;
  std::string group;
  bool wait = false;
  Status refusal;  // its token has ended
  sidecar::CancelPop cancel;
  WaitingCallers::Watch watch;
};

// Ends `underway` when its caller may no longer pop.
WaitingCallers::Watch WatchCaller(const Context& context, const http::Request& request,
                                  const std::shared_ptr<Underway>& underway) {
  const auto header = request.Header("Authorization");
  if (!context.waiting || !header || request.access() == nullptr) return {};
  WaitingCallers::Caller caller;
  caller.header = *header;
  caller.access = *request.access();
  caller.queue = request.Param("queue");
  caller.end = [weak = std::weak_ptr(underway)](const Status& why) {
    const auto ended = weak.lock();
    if (!ended) return;
    ended->refusal = why;
    if (ended->cancel) ended->cancel();
  };
  return context.waiting->Add(std::move(caller), request.identity().until_seconds);
}

void Answer(const Context& context, bool wait, const std::string& group, http::Reply reply,
            Result<PopResult> result) {
  if (!result.ok()) return SendPopError(context.loop, wait, std::move(reply), result.status());
  if (!result->deliveries.empty()) {
    return reply.Send(http::Response::Json(200, WritePopReply(group, *result, context.cipher)));
  }
  http::Response nothing = http::Response::Empty();
  if (context.pop_paused && context.pop_paused()) nothing.AddHeader("Queen-Paused", "pop");
  reply.Send(std::move(nothing));
}

void Finish(const Context& context, Underway& pop, Result<PopResult> result) {
  if (!pop.reply) return;
  // Tokens may have changed since the last look.
  if (context.waiting) context.waiting->Look();
  pop.watch = {};
  const bool taken = pop.reply.connected() && pop.refusal.ok();
  if (result.ok() && result->leased && !taken) {
    context.engine.GiveBack(pop.group, std::exchange(*result, PopResult{}));
  }
  if (!pop.refusal.ok()) result = pop.refusal;
  Answer(context, pop.wait, pop.group, std::move(pop.reply), std::move(result));
}

}  // namespace

Result<PopRequest> ParsePop(const http::Request& request, int64_t now_micros) {
  const Query& query = request.query();
  PopRequest pop;
  QUEEN_RETURN_IF_ERROR(TakeSource(request, pop));
  QUEEN_RETURN_IF_ERROR(TakeNumber(query, "batch", 1, kPopBatchMax, pop.batch));
  QUEEN_RETURN_IF_ERROR(TakeNumber(query, "partitions", 1, kPopPartitionsMax, pop.partitions_max));
  QUEEN_RETURN_IF_ERROR(TakeNumber(query, "leaseTime", 0, kPopLeaseSecondsMax, pop.lease_seconds));
  QUEEN_RETURN_IF_ERROR(TakeWait(query, pop));
  QUEEN_RETURN_IF_ERROR(TakeGroup(query, now_micros, pop));
  const Result<bool> auto_ack = query.Bool("autoAck");
  if (!auto_ack.ok()) return auto_ack.status();
  pop.auto_ack = *auto_ack;
  return pop;
}

void SendPopError(Loop& loop, bool wait, http::Reply reply, const Status& status) {
  if (status.code() == Code::kTooManyRequests) {
    return reply.SendError(Status(Code::kOverloaded, status.message()));
  }
  http::Response response = http::ErrorResponse(status);
  const bool refused = response.status >= 400 && response.status < 500;
  if (!refused || !wait) return reply.Send(std::move(response));
  SendLater(loop, std::move(reply), std::move(response), kPopRefusalDelayMs);
}

void RefuseUnrouted(Loop& loop, const http::Request& request, http::Reply reply,
                    const Status& status) {
  const bool pop = request.raw_path().starts_with("/api/v1/pop");
  if (!pop) {
    http::Response response = http::ErrorResponse(status);
    if (request.retry_after_seconds() > 0) {
      response.AddHeader("Retry-After", std::to_string(request.retry_after_seconds()));
    }
    return reply.Send(std::move(response));
  }
  // The query as a whole may be what is wrong, so its pairs are looked at one by one.
  bool wait = false;
  for (std::string_view rest = request.raw_query(); !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const Result<Query> one = Query::Parse(pair);
    wait = wait || (one.ok() && MayWait(*one));
  }
  SendPopError(loop, wait, std::move(reply), status);
}

void HandlePop(const Context& context, const http::Request& request, http::Reply reply) {
  // The router serves HEAD like GET, but a pop takes messages out.
  if (request.method() == http::Method::kHead) {
    return reply.SendError(Status(Code::kMethodNotAllowed));
  }
  const bool wait = MayWait(request.query());
  Result<PopRequest> pop = ParsePop(request, WallMicros());
  if (!pop.ok()) return SendPopError(context.loop, wait, std::move(reply), pop.status());
  pop->trace = TraceOf(context, request);
  const auto underway = std::make_shared<Underway>();
  underway->reply = std::move(reply);
  underway->group = pop->group;
  underway->wait = wait;
  if (pop->wait_ms > 0) {
    underway->reply.HoldNext();
    underway->watch = WatchCaller(context, request, underway);
  }
  sidecar::CancelPop cancel =
      context.engine.Pop(*std::move(pop), [&context, underway](Result<PopResult> result) {
        Finish(context, *underway, std::move(result));
      });
  if (!underway->reply || !cancel) return;
  underway->cancel = std::move(cancel);
  underway->reply.OnDisconnect([weak = std::weak_ptr(underway)] {
    if (const auto gone = weak.lock()) gone->cancel();
  });
}

}  // namespace queen::api
