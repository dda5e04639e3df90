// DELETE /api/v1/resources/queues/:queue and .../partitions/:partition. Deleting what does not
// exist is fine: {deleted:true, existed:false}.
#pragma once

#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleDeleteQueue(const Context& context, const http::Request& request, http::Reply reply);
void HandleDeletePartition(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
