#include "api/metrics.h"

#include <utility>

#include "api/context.h"
#include "metrics/prometheus.h"

namespace queen::api {

void HandleMetrics(const Context& context, const http::Request& /*request*/, http::Reply reply) {
  context.metrics(MetricsFormat::kJson, [reply = std::move(reply)](std::string json) mutable {
    reply.SendPage(http::Response::Json(200, std::move(json)));
  });
}

void HandlePrometheus(const Context& context, const http::Request& /*request*/, http::Reply reply) {
  context.metrics(MetricsFormat::kPrometheus, [reply = std::move(reply)](std::string text) mutable {
    http::Response response;
    response.content_type = metrics::kPrometheusContentType;
    response.body = std::move(text);
    reply.SendPage(std::move(response));
  });
}

}  // namespace queen::api
