// The endpoints of the streaming SDKs, snake_case:
//   POST /streams/v1/queries    makes or finds a query; 409 when its configuration has changed
//   POST /streams/v1/cycle      state, pushes and a cumulative ack of one partition, all or nothing
//   POST /streams/v1/state/get  the state of a query on a partition
// An array that is null is an empty one. A cycle that is refused (a lost lease, a duplicate) is a
// 200 with success:false and nothing is applied; an unknown query or partition is a 404.
#pragma once

#include <string>
#include <string_view>

#include "api/context.h"
#include "api/push_items.h"
#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"
#include "sidecar/requests.h"

namespace queen::api {

inline constexpr size_t kStateOpsMax = 200'000;
inline constexpr size_t kStateKeysMax = 200'000;

void HandleStreamQuery(const Context& context, const http::Request& request, http::Reply reply);
// Takes the body out of the request.
void HandleStreamCycle(const Context& context, http::Request& request, http::Reply reply);
void HandleStreamState(const Context& context, const http::Request& request, http::Reply reply);

Result<sidecar::StreamQueryRequest> ParseStreamQuery(std::string_view body);
Result<sidecar::StreamStateRequest> ParseStreamState(std::string_view body);

// Fills `cycle` from its body. The text, if there is one, is why the cycle is refused already.
Result<std::string> ParseStreamCycle(const Producer& producer, sidecar::TransactionRequest& cycle);

}  // namespace queen::api
