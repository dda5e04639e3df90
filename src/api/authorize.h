// Whether a caller may: the role that the route asks for (api/routes.cc) and, for tokens that are
// limited to some queues, the queue that the request names. What only a handler can see, because it
// stands in the body, handlers ask here too.
//
// A limited token is refused, with 403, on routes that are about all queues and cannot leave out
// some of them (auth::Names::kAll).
#pragma once

#include <string_view>
#include <vector>

#include "api/context.h"
#include "auth/access.h"
#include "base/ids.h"
#include "base/unique_function.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/route.h"
#include "sidecar/requests.h"

namespace queen::api {

// The router's guard: puts the identity on the request and checks role and queue. kUnauthenticated
// or kForbidden.
Status Authorize(const Context& context, http::Request& request, const http::RouteInfo& route);

// Whether somebody may do what the route is for, to `queue` ("": to all of them). kForbidden.
Status CheckAccess(const auth::Identity& who, const auth::Access& access, std::string_view queue);

// Ok, or kForbidden with a text that names the queue.
Status CheckQueue(const auth::Identity& who, auth::Verb verb, std::string_view queue);
// The same for what is about every queue.
Status CheckAllQueues(const auth::Identity& who, auth::Verb verb);
// The same for the queues that these items are pushed to: one that is not allowed refuses them all.
Status CheckPushes(const auth::Identity& who, const std::vector<sidecar::PushItem>& items);

// Runs `go_on` with the reply if the queues of all these partitions may be used so, at once where
// the token is not limited; else refuses. A partition that does not exist is no reason to refuse:
// nothing can be done to it.
void CheckPartitions(const Context& context, const auth::Identity& who, auth::Verb verb,
                     std::vector<PartitionId> partitions, http::Reply reply,
                     UniqueFunction<void(http::Reply)> go_on);

// The same for the queues of a streaming query, as it was registered: its source must be one to pop
// from, and its sink, if it has one, one that `sink_verb` is allowed for. `go_on` hears whether
// there is such a query; where the token is not limited nobody looks.
enum class StreamQueryIs : uint8_t { kUnasked, kAbsent, kThere };
void CheckStreamQuery(const Context& context, const auth::Identity& who, auth::Verb sink_verb,
                      admin::StreamQueryName query, http::Reply reply,
                      UniqueFunction<void(StreamQueryIs, http::Reply)> go_on);

}  // namespace queen::api
