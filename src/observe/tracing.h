// Tracing: the spans of this process, from the workers that make them to the collector they are
// sent to. It exists only where an endpoint is configured; without it nothing of this is done.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "metrics/registry.h"
#include "observe/message_traces.h"
#include "observe/sampler.h"
#include "observe/span_exporter.h"
#include "observe/span_ring.h"

namespace queen::observe {

// What has become of spans so far.
struct SpanTotals {
  uint64_t exported = 0;
  uint64_t buffer_full = 0;  // dropped because a worker's ring was full
  uint64_t not_sent = 0;     // dropped because no collector took them
  uint64_t sends_failed = 0;
};

class Tracing {
 public:
  // Registers its metrics. `registry` outlives it, and is not read once it is gone.
  Tracing(const config::Tracing& config, size_t workers, metrics::Registry& registry);

  void Start() { exporter_->Start(); }
  // When no worker runs any more; see SpanExporter.
  void Stop(int64_t limit_ms, UniqueFunction<void()> done) {
    exporter_->Stop(limit_ms, std::move(done));
  }
  void Hurry() { exporter_->Hurry(); }
  SpanTotals Totals() const;
  // What a worker has recorded and nobody has sent. REQUIRES: not started
  std::vector<Span> TakeSpans(size_t worker);

  // Of one worker; any thread for Start, the worker's own for Record.
  class Tracer {
   public:
    Tracer(Tracing& tracing, size_t worker) : tracing_(tracing), worker_(worker) {}

    // The context of a new span below `parent`, or of a new trace if that is none. None itself
    // where it is not to be exported.
    TraceContext Start(const TraceContext& parent) const;
    void Record(Span span);
    MessageTraces& messages() { return tracing_.messages_; }

   private:
    Tracing& tracing_;
    size_t worker_;
  };

 private:
  void AddMetrics(metrics::Registry& registry);

  const Sampler sampler_;
  MessageTraces messages_;
  std::vector<std::unique_ptr<SpanRing>> rings_;  // one per worker
  std::unique_ptr<SpanExporter> exporter_;
};

// Where spans are posted.
std::string TracesUrl(const config::Tracing& config);

// What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say of this process.
Resource ResourceOf(const config::Tracing& config);

}  // namespace queen::observe
