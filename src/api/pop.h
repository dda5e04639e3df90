// GET /api/v1/pop/queue/:queue, .../partition/:partition and /api/v1/pop?namespace=&task=: leases
// and returns messages, or waits for them. Answers 200 with messages (pop_reply.h) or 204.
//
// A long poll:
//   1. The engine parks it and answers with nothing when wait_ms has passed.
//   2. When the client leaves first the pop is cancelled, so that no lease is taken for nobody; a
//      lease that is on its way is given back. With autoAck there is none: what PostgreSQL settles
//      for a client that has just left is lost to it (at most once).
//   3. From 5 s on the 204 leaves 500 ms before the timeout the client named, because some give up
//      at exactly that moment.
//   4. A pop whose token is revoked or expires while it waits is ended with 401 (WaitingCallers),
//      and is given nothing any more: a lease on its way is given back, as in point 2.
//   5. A refusal (4xx) of a pop that would have waited leaves after 1 s: consumers ask again at
//      once.
// A pop is never answered 429, which consumers take for the end: it becomes a 503.
#pragma once

#include <cstdint>

#include "api/context.h"
#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"
#include "sidecar/requests.h"

namespace queen::api {

inline constexpr int64_t kPopBatchMax = 10'000;
inline constexpr int64_t kPopPartitionsMax = 10'000;
inline constexpr int64_t kPopTimeoutMsDefault = 30'000;
inline constexpr int64_t kPopTimeoutMsMax = 600'000;
inline constexpr int64_t kPopEarlyFromMs = 5'000;
inline constexpr int64_t kPopEarlyMs = 500;
inline constexpr int64_t kPopLeaseSecondsMax = 31'536'000;
inline constexpr int64_t kPopRefusalDelayMs = 1'000;

// Serves all three routes: the path's parameters tell them apart.
void HandlePop(const Context& context, const http::Request& request, http::Reply reply);

// The request for the engine; kInvalidRequest names the parameter that cannot be used.
Result<sidecar::PopRequest> ParsePop(const http::Request& request, int64_t now_micros);

// How every error of a pop is told (point 5, and never a 429), also by who refuses it before it
// gets here. `wait` is the query's.
// What the router refuses, a pop or not: a consumer that waits is answered late here too.
void RefuseUnrouted(Loop& loop, const http::Request& request, http::Reply reply,
                    const Status& status);

void SendPopError(Loop& loop, bool wait, http::Reply reply, const Status& status);

}  // namespace queen::api
