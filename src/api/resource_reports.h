// What there is and how much of it: queues, partitions, namespaces, tasks and consumer groups with
// their numbers. Lists come from what the stats job has measured last (`statsAge` says how long
// ago); one queue's or one group's partitions are as they are at the moment of the call.
//
//   GET  /api/v1/resources/overview
//   GET  /api/v1/resources/queues            ?namespace= &task= &limit= &offset=
//   GET  /api/v1/resources/queues/:queue     ?limit= &offset=   of its partitions
//   GET  /api/v1/resources/queues/:queue/depth
//   GET  /api/v1/resources/namespaces, /api/v1/resources/tasks
//   GET  /api/v1/resources/partitions        ?queue= &sort=name|lag &limit=100 &offset=
//   GET  /api/v1/consumer-groups
//   GET  /api/v1/consumer-groups/:group      ?limit= &offset=   of its partitions
//   GET  /api/v1/consumer-groups/lagging     ?minLagSeconds=3600 &limit=1000 &offset=
//   GET  /api/v1/streams                     ?limit=100 &offset=
//   GET  /api/v1/streams/:queryId            with the partitions in which it keeps state
//   POST /api/v1/stats/refresh               measures now and answers when that is done
//
// Without a limit everything is listed, unless one is named above.
#pragma once

#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleOverview(const Context& context, const http::Request& request, http::Reply reply);
void HandleListQueues(const Context& context, const http::Request& request, http::Reply reply);
void HandleQueue(const Context& context, const http::Request& request, http::Reply reply);
void HandleQueueDepth(const Context& context, const http::Request& request, http::Reply reply);
void HandleListNamespaces(const Context& context, const http::Request& request, http::Reply reply);
void HandleListTasks(const Context& context, const http::Request& request, http::Reply reply);
void HandleListPartitions(const Context& context, const http::Request& request, http::Reply reply);
void HandleListGroups(const Context& context, const http::Request& request, http::Reply reply);
void HandleGroup(const Context& context, const http::Request& request, http::Reply reply);
void HandleLaggingGroups(const Context& context, const http::Request& request, http::Reply reply);
void HandleListStreamQueries(const Context& context, const http::Request& request,
                             http::Reply reply);
void HandleStreamQueryState(const Context& context, const http::Request& request,
                            http::Reply reply);
void HandleRefreshStats(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
