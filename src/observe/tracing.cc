#include "observe/tracing.h"

#include <algorithm>

#include "base/random.h"
#include "config/pair_list.h"
#include "config/version.h"

namespace queen::observe {
namespace {

constexpr size_t kMessagesMax = 100'000;

template <size_t kSize>
void FillRandom(std::array<uint8_t, kSize>& bytes) {
  for (size_t i = 0; i < kSize; i += 8) {
    uint64_t number = ThreadRandom()();
    for (size_t j = i; j < i + 8; ++j, number >>= 8) bytes[j] = static_cast<uint8_t>(number);
  }
  bytes[kSize - 1] |= 1;  // never all zeros, which would be no id
}

}  // namespace

std::string TracesUrl(const config::Tracing& config) {
  if (!config.traces_endpoint.empty()) return config.traces_endpoint;
  std::string url = config.endpoint;
  if (!url.ends_with('/')) url += '/';
  return url + "v1/traces";
}

Resource ResourceOf(const config::Tracing& config) {
  Resource resource = {{"service.name", config.service_name}};
  bool has_version = false;
  const config::PairList others = config::ParsePairList(config.resource_attributes).value();
  for (const auto& [key, value] : others) {
    has_version = has_version || key == "service.version";
    if (key != "service.name") resource.emplace_back(key, value);
  }
  if (!has_version) resource.emplace_back("service.version", config::Version());
  return resource;
}

Tracing::Tracing(const config::Tracing& config, size_t workers, metrics::Registry& registry)
    : sampler_(config.sampler, config.sampler_arg), messages_(kMessagesMax) {
  std::vector<SpanRing*> rings;
  for (size_t i = 0; i < workers; ++i) {
    rings_.push_back(std::make_unique<SpanRing>(static_cast<size_t>(config.queue_size)));
    rings.push_back(rings_.back().get());
  }
  exporter_ = std::make_unique<SpanExporter>(
      ExporterOptions{.url = TracesUrl(config),
                      .headers = config::ParsePairList(config.headers).value(),
                      .certificates = config.certificate,
                      .timeout_ms = config.timeout_ms,
                      .schedule_delay_ms = config.schedule_delay_ms,
                      .wake_at = std::clamp<size_t>(static_cast<size_t>(config.queue_size) / 2, 1,
                                                    SpanExporter::kBatchMax),
                      .resource = ResourceOf(config),
                      .version = std::string(config::Version())},
      std::move(rings));
  AddMetrics(registry);
}

SpanTotals Tracing::Totals() const {
  SpanTotals totals{.exported = exporter_->exported(),
                    .not_sent = exporter_->given_up(),
                    .sends_failed = exporter_->sends_failed()};
  for (const auto& ring : rings_) totals.buffer_full += ring->dropped();
  return totals;
}

void Tracing::AddMetrics(metrics::Registry& registry) {
  const auto add = [&](std::string_view name, std::string_view help, uint64_t SpanTotals::*member,
                       metrics::Labels labels = {}) {
    registry.AddComputed(
        metrics::Kind::kCounter, name, help,
        [this, member] { return static_cast<double>(Totals().*member); }, std::move(labels));
  };
  constexpr std::string_view kDropped = "queen_trace_spans_dropped_total";
  constexpr std::string_view kDroppedHelp =
      "Spans that no collector got: because a worker's buffer was full, or because they could not "
      "be sent.";
  add("queen_trace_spans_exported_total", "Spans that a collector took.", &SpanTotals::exported);
  add(kDropped, kDroppedHelp, &SpanTotals::buffer_full, {{"reason", "buffer_full"}});
  add(kDropped, kDroppedHelp, &SpanTotals::not_sent, {{"reason", "not_sent"}});
  add("queen_trace_sends_failed_total",
      "Attempts to send a batch of spans that failed or were refused.", &SpanTotals::sends_failed);
}

TraceContext Tracing::Tracer::Start(const TraceContext& parent) const {
  TraceContext context;
  context.trace_id = parent.trace_id;
  if (!parent.valid()) FillRandom(context.trace_id);
  if (!tracing_.sampler_.Takes(parent, context.trace_id)) return {};
  FillRandom(context.span_id);
  context.flags = TraceContext::kSampled;
  return context;
}

std::vector<Span> Tracing::TakeSpans(size_t worker) {
  std::vector<Span> spans;
  rings_[worker]->Take(SIZE_MAX, spans);
  return spans;
}

void Tracing::Tracer::Record(Span span) {
  tracing_.exporter_->Added(tracing_.rings_[worker_]->Add(std::move(span)));
}

}  // namespace queen::observe
