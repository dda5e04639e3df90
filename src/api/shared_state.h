// GET /api/v1/system/shared-state: what this broker knows of its own sidecars and of the other
// brokers, for people and the dashboard. Written by server/shared_state.cc, which sees all of them.
#pragma once

#include <string>

#include "base/unique_function.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

// Takes the JSON of the answer.
using SharedStateDone = UniqueFunction<void(std::string)>;

void HandleSharedState(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
