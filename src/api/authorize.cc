#include "api/authorize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace queen::api {
namespace {

using auth::Identity;
using auth::Names;
using auth::Role;
using auth::Verb;

std::string_view Phrase(Verb verb) {
  switch (verb) {
    case Verb::kSee:
      return "see";
    case Verb::kPush:
      return "push to";
    case Verb::kPop:
      return "pop from";
    case Verb::kAdmin:
      return "administer";
  }
  return "";
}

Status Forbidden(const std::string& why) {
  return Status(Code::kForbidden, fmt::format("{}: {}", InfoOf(Code::kForbidden).text, why));
}

Status CheckNames(const Identity& who, const auth::Access& access, const http::Request& request) {
  switch (access.names) {
    case Names::kNothing:
    case Names::kHandler:
    case Names::kPartition:  // asked where the route is bound
      return Status::Ok();
    case Names::kPath:
      return CheckQueue(who, access.verb, request.Param("queue"));
    case Names::kQuery: {
      const std::string_view queue = request.query().GetOr("queue", "");
      if (queue.empty()) return CheckAllQueues(who, access.verb);
      return CheckQueue(who, access.verb, queue);
    }
    case Names::kAll:
      return CheckAllQueues(who, access.verb);
  }
  return Status(Code::kForbidden);
}

}  // namespace

Status CheckQueue(const Identity& who, Verb verb, std::string_view queue) {
  if (who.queues.Allow(verb, queue)) return Status::Ok();
  return Forbidden(fmt::format("this token may not {} the queue {}", Phrase(verb), queue));
}

Status CheckAccess(const Identity& who, const auth::Access& access, std::string_view queue) {
  if (who.role < access.role) return Status(Code::kForbidden);
  return queue.empty() ? CheckAllQueues(who, access.verb) : CheckQueue(who, access.verb, queue);
}

Status CheckAllQueues(const Identity& who, Verb verb) {
  if (who.queues.AllowAll(verb)) return Status::Ok();
  return Forbidden("this token is limited to some queues, and this is about all of them");
}

Status CheckPushes(const Identity& who, const std::vector<sidecar::PushItem>& items) {
  if (who.queues.AllowAll(Verb::kPush)) return Status::Ok();
  for (const sidecar::PushItem& item : items) {
    QUEEN_RETURN_IF_ERROR(CheckQueue(who, Verb::kPush, item.queue));
  }
  return Status::Ok();
}

Status Authorize(const Context& context, http::Request& request, const http::RouteInfo& route) {
  const auth::IdentityRef& certificate = request.peer().certificate;
  if (!context.authenticate) {
    if (certificate) request.SetIdentity(certificate);
    return Status::Ok();
  }
  const auth::Access access = route.access.value_or(auth::Access{});
  if (access.role == Role::kAnybody) {
    static const auth::IdentityRef stranger = std::make_shared<const Identity>();
    request.SetIdentity(stranger);
    return Status::Ok();
  }
  if (request.CountHeaders("Authorization") > 1) {
    return Status(Code::kUnauthenticated, "More than one Authorization header");
  }
  if (certificate && !request.Header("Authorization")) {
    request.SetIdentity(certificate);
  } else {
    Result<auth::IdentityRef> who = context.authenticate(request.Header("Authorization"));
    if (!who.ok()) return who.status();
    request.SetIdentity(*std::move(who));
  }
  if (request.identity().role < access.role) return Status(Code::kForbidden);
  return CheckNames(request.identity(), access, request);
}

void CheckPartitions(const Context& context, const Identity& who, Verb verb,
                     std::vector<PartitionId> partitions, http::Reply reply,
                     UniqueFunction<void(http::Reply)> go_on) {
  if (who.queues.AllowAll(verb) || partitions.empty()) return go_on(std::move(reply));
  std::sort(partitions.begin(), partitions.end());
  partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
  context.admin.FindQueues(
      std::move(partitions),
      [queues = who.queues, verb, reply = std::move(reply),
       go_on = std::move(go_on)](const Result<std::vector<std::string>>& names) mutable {
        if (!names.ok()) return reply.SendError(names.status());
        for (const std::string& name : *names) {
          if (!queues.Allow(verb, name)) {
            return reply.SendError(
                Forbidden(fmt::format("this token may not {} that partition", Phrase(verb))));
          }
        }
        go_on(std::move(reply));
      });
}

void CheckStreamQuery(const Context& context, const Identity& who, Verb sink_verb,
                      admin::StreamQueryName query, http::Reply reply,
                      UniqueFunction<void(StreamQueryIs, http::Reply)> go_on) {
  if (!who.queues.limited) return go_on(StreamQueryIs::kUnasked, std::move(reply));
  context.admin.FindStreamQueues(
      std::move(query),
      [queues = who.queues, sink_verb, reply = std::move(reply),
       go_on = std::move(go_on)](const Result<std::optional<admin::StreamQueues>>& found) mutable {
        if (!found.ok()) return reply.SendError(found.status());
        if (!*found) return go_on(StreamQueryIs::kAbsent, std::move(reply));
        const admin::StreamQueues& of = **found;
        const bool sink = of.sink.empty() || queues.Allow(sink_verb, of.sink);
        if (!sink || !queues.Allow(Verb::kPop, of.source)) {
          return reply.SendError(Forbidden("this token may not use the queues of that query"));
        }
        go_on(StreamQueryIs::kThere, std::move(reply));
      });
}

}  // namespace queen::api
