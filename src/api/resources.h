// DELETE /api/v1/resources/queues/:queue and .../partitions/:partition. Deleting what does not
// exist is fine: {deleted:true, existed:false}.
// DELETE /api/v1/queues/:queue/clear?partition= removes every message that some group has still to
// consume, of one partition or of all, and ends the leases there (sql/procedures/clear_queue.sql).
#pragma once

#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleDeleteQueue(const Context& context, const http::Request& request, http::Reply reply);
void HandleDeletePartition(const Context& context, const http::Request& request, http::Reply reply);

void HandleClearQueue(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
