#include "observe/span_exporter.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"

namespace queen::observe {
namespace {

constexpr int64_t kPauseMsMax = 8'000;

}  // namespace

SpanExporter::SpanExporter(ExporterOptions options, std::vector<SpanRing*> rings)
    : options_(std::move(options)),
      rings_(std::move(rings)),
      client_(options_.url, options_.headers, options_.certificates) {}

SpanExporter::~SpanExporter() {
  if (!thread_.joinable()) return;
  if (!stopping()) Stop(0, [] {});
  Hurry();
  thread_.join();
}

void SpanExporter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void SpanExporter::Stop(int64_t limit_ms, UniqueFunction<void()> done) {
  stopped_ = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    stop_by_ms_ = SteadyMillis() + limit_ms;
  }
  wake_.notify_one();
  stop_.notify_one();
}

void SpanExporter::Hurry() {
  if (stopping()) stop_by_ms_ = SteadyMillis();
}

void SpanExporter::Run() {
  while (true) {
    {
      // Woken early for no reason it sends what there is. A wake that comes just before the wait is
      // lost, and costs one delay.
      std::unique_lock lock(mutex_);
      if (!stopping()) {
        wake_.wait_for(lock, std::chrono::milliseconds(options_.schedule_delay_ms));
      }
    }
    const bool last = stopping();
    while (TakeAndSend()) {
    }
    if (last) return stopped_();
  }
}

// False: there was nothing.
bool SpanExporter::TakeAndSend() {
  std::vector<Span> spans;
  for (SpanRing* ring : rings_) ring->Take(kBatchMax - spans.size(), spans);
  if (spans.empty()) return false;
  const bool sent = TimeLeft() > 0 && Send(WriteSpans(options_.resource, options_.version, spans));
  (sent ? exported_ : given_up_).fetch_add(spans.size(), std::memory_order_relaxed);
  return true;
}

bool SpanExporter::Send(const std::string& body) {
  int64_t pause_ms = options_.first_pause_ms;
  for (int attempt = 1;; ++attempt) {
    const bool last = stopping() || attempt == kAttemptsMax;
    const int64_t timeout_ms = std::min(options_.timeout_ms, TimeLeft());
    if (timeout_ms <= 0) return false;
    const OtlpClient::Answer answer =
        client_.Post(body, timeout_ms, [this] { return TimeLeft() <= 0; });
    if (answer.ok()) return true;
    sends_failed_.fetch_add(1, std::memory_order_relaxed);
    log::WarnRarely("spans could not be sent",
                    {{"status", answer.status}, {"error", answer.problem}});
    if (last || !answer.retryable()) return false;
    const int64_t wanted_ms = std::clamp(answer.retry_after_ms, pause_ms, kPauseMsMax);
    Pause(RandomBetween(ThreadRandom(), wanted_ms / 2, wanted_ms));
    pause_ms = std::min(2 * pause_ms, kPauseMsMax);
  }
}

// Ends early when it is to stop.
void SpanExporter::Pause(int64_t ms) {
  std::unique_lock lock(mutex_);
  stop_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stopping(); });
}

int64_t SpanExporter::TimeLeft() const {
  const int64_t stop_by_ms = stop_by_ms_.load();
  return stop_by_ms == 0 ? INT64_MAX : stop_by_ms - SteadyMillis();
}

}  // namespace queen::observe
