// Sampler: which traces get spans of this broker, as OTEL_TRACES_SAMPLER says.
#pragma once

#include <string_view>

#include "base/trace_context.h"

namespace queen::observe {

class Sampler {
 public:
  // `name` is a word of OTEL_TRACES_SAMPLER; `ratio`, 0..1, counts for those that end in
  // traceidratio.
  Sampler(std::string_view name, double ratio);

  // Whether a span in the trace of `trace_id` is exported. `parent` may be none. Every service that
  // takes the same share takes the same traces: only the trace id decides.
  bool Takes(const TraceContext& parent, const std::array<uint8_t, 16>& trace_id) const;

 private:
  bool parent_based_;
  uint64_t below_ = 0;  // of 63 bits of the trace id
};

}  // namespace queen::observe
