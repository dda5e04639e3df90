// Traces: what consumers note about messages.
//
//   POST /api/v1/traces                              201 {success, traceId}
//   GET  /api/v1/traces/:partitionId/:transactionId  of one message, oldest first
//   GET  /api/v1/traces/by-name/:name                of one name, oldest first, in pages
//   GET  /api/v1/traces/names                        every name, the last used first, in pages
#pragma once

#include <string_view>

#include "admin/requests.h"
#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

inline constexpr size_t kTraceNamesMax = 100;

void HandleRecordTrace(const Context& context, const http::Request& request, http::Reply reply);
void HandleListTraces(const Context& context, const http::Request& request, http::Reply reply);
void HandleListTracesByName(const Context& context, const http::Request& request,
                            http::Reply reply);
void HandleListTraceNames(const Context& context, const http::Request& request, http::Reply reply);

// kNotFound for a partitionId that is none of ours.
Result<admin::TraceRequest> ParseTrace(std::string_view body);

}  // namespace queen::api
