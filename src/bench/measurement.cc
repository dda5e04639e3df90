#include "bench/measurement.h"

#include "base/clock.h"

namespace queen::bench {
namespace {

constexpr int64_t kMicrosPerMilli = 1'000;
constexpr int64_t kMicrosPerSecond = 1'000'000;

double Seconds(int64_t micros) { return static_cast<double>(micros) / 1e6; }

std::optional<double> Difference(const std::optional<double>& end,
                                 const std::optional<double>& begin) {
  if (!end || !begin) return std::nullopt;
  return *end - *begin;
}

LatencySummary Take(Latency& interval) {
  const LatencySummary summary = Summarize(interval);
  interval.Reset();
  return summary;
}

}  // namespace

Measurement::Measurement(Run& run, Resources& resources, const Watched& watched)
    : resources_(resources),
      watched_(watched),
      began_(resources.Begin()),
      interval_us_(run.options().interval_seconds * kMicrosPerSecond),
      began_us_(SteadyMicros()),
      timer_(run.loop(), [this] { TakePoint(); }),
      point_us_(began_us_),
      point_usage_(began_) {
  if (watched.pushes != nullptr) watched.pushes->Reset();
  if (watched.consumers != nullptr) watched.consumers->meters().Reset();
  if (watched.workload == nullptr) return;
  point_confirmed_ = watched.workload->ledger.confirmed();
  point_received_ = watched.workload->ledger.received();
  const int64_t interval_ms = interval_us_ / kMicrosPerMilli;
  uv_update_time(run.loop().uv());
  timer_.Start(interval_ms, interval_ms);
}

void Measurement::End() {
  const int64_t now = SteadyMicros();
  seconds_ = Seconds(now - began_us_);
  spent_ = resources_.End(began_);
  // The better part of an interval counts as a point; a shorter rest would only be noise.
  if (timer_.IsActive() && 2 * (now - point_us_) > interval_us_) TakePoint();
  timer_.Stop();
}

ReportRow Measurement::Row(const char* name, const Stats& stats) const {
  return {.name = name,
          .seconds = seconds_,
          .messages = stats.messages,
          .requests = stats.requests,
          .latency = Summarize(stats.latency),
          .spent = std::nullopt};
}

void Measurement::TakePoint() {
  const int64_t now = SteadyMicros();
  const double passed = Seconds(now - point_us_);
  const Ledger& ledger = watched_.workload->ledger;
  const Usage usage = resources_.Now();
  SeriesPoint point;
  point.seconds = Seconds(now - began_us_);
  point.pushed_per_second = static_cast<double>(ledger.confirmed() - point_confirmed_) / passed;
  point.received_per_second = static_cast<double>(ledger.received() - point_received_) / passed;
  point.backlog = ledger.backlog();
  if (watched_.pushes != nullptr) point.push = Take(watched_.pushes->interval);
  if (watched_.consumers != nullptr) {
    point.cycle = Take(watched_.consumers->meters().cycle.interval);
    point.ack = Take(watched_.consumers->meters().ack.interval);
    point.delivery = Take(watched_.consumers->meters().delivery.interval);
  }
  point.broker_cpu_seconds = Difference(usage.broker_cpu_seconds, point_usage_.broker_cpu_seconds);
  point.postgres_cpu_seconds =
      Difference(usage.postgres_cpu_seconds, point_usage_.postgres_cpu_seconds);
  series_.push_back(point);
  point_us_ = now;
  point_usage_ = usage;
  point_confirmed_ = ledger.confirmed();
  point_received_ = ledger.received();
}

}  // namespace queen::bench
