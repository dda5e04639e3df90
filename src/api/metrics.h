// GET /metrics (JSON) and GET /metrics/prometheus (text): what this broker has measured. Both are
// written by observe/metrics.cc.
#pragma once

#include <string>

#include "base/unique_function.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

enum class MetricsFormat { kJson, kPrometheus };
// Takes the document.
using MetricsDone = UniqueFunction<void(std::string)>;

void HandleMetrics(const Context& context, const http::Request& request, http::Reply reply);
void HandlePrometheus(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
