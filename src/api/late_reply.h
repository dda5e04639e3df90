// A reply that is held back: consumers repeat a refused pop at once, so the refusal takes its time.
#pragma once

#include <cstdint>

#include "http/reply.h"
#include "http/response.h"
#include "loop/loop.h"

namespace queen::api {

// Sends `response` after `delay_ms`; forgets it at once if the client leaves before. On the loop's
// thread. The timer is held by the connection's request: it ends when that is closed.
void SendLater(Loop& loop, http::Reply reply, http::Response response, int64_t delay_ms);

}  // namespace queen::api
