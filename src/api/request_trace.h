// The trace that a request belongs to, from its `traceparent` and `tracestate` headers, and what of
// it travels on in the messages that it pushes. Headers that break the rules of W3C Trace Context
// are as if they had not come, and so is a header that came several times.
#pragma once

#include <string>

#include "api/context.h"
#include "base/trace_context.h"
#include "http/request.h"

namespace queen::api {

// With a span of the request's own where the broker exports them.
RequestTrace TraceOf(const Context& context, const http::Request& request);

// The members for the headers of messages that name no trace of their own, as JSON:
// "traceparent":"..." of the request's own span, or of its caller, and the caller's tracestate.
// "" when there is neither.
std::string TraceHeaders(const RequestTrace& trace, const http::Request& request);

}  // namespace queen::api
