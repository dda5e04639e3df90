// Spans as OTLP writes them in JSON: the body of a POST to /v1/traces. Names of attributes are
// those of OpenTelemetry's conventions for messaging; what they have no name for begins with
// "queen.".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/span.h"

namespace queen::observe {

// What is said of the process that the spans come from, such as service.name.
using Resource = std::vector<std::pair<std::string, std::string>>;

std::string WriteSpans(const Resource& resource, std::string_view version,
                       std::span<const Span> spans);

}  // namespace queen::observe
