// GET /api/v1/system/environment (ours): what the broker stands on, for `queen doctor`.
#pragma once

#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleEnvironment(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
