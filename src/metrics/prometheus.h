// The Prometheus text format, version 0.0.4, of everything in a registry.
#pragma once

#include <string>
#include <string_view>

#include "metrics/registry.h"

namespace queen::metrics {

constexpr std::string_view kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

// Any thread. A histogram's buckets, +Inf and count agree with each other; values of
// different series are read one after the other.
std::string RenderPrometheus(const Registry& registry);

}  // namespace queen::metrics
