// GET /api/v1/status...: the dashboard's first pages. The documents are SQL's
// (storage/minute_reports.h); only the state of this broker's own file buffer is written here.
//
//   /status               a time (report_range.h) and what there is now, by queue, namespace, task
//   /status/analytics     the same time as a series and its sums
//   /status/queues        a page of queues
//   /status/queues/:queue one queue with a page of its partitions; 404 where there is none
//   /status/buffers       asks nobody
#pragma once

#include <string>

#include "api/maintenance.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

void HandleStatus(const Context& context, const http::Request& request, http::Reply reply);
void HandleStatusAnalytics(const Context& context, const http::Request& request, http::Reply reply);
void HandleStatusQueues(const Context& context, const http::Request& request, http::Reply reply);
void HandleStatusQueue(const Context& context, const http::Request& request, http::Reply reply);
void HandleStatusBuffers(const Context& context, const http::Request& request, http::Reply reply);

std::string WriteBuffers(const MaintenanceStatus& status);

}  // namespace queen::api
