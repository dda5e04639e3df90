// SpanExporter: one thread that takes the workers' spans out of their rings, some hundred at a
// time, and sends them to a collector. Nobody ever waits for it: while the collector is slow or
// away the rings fill, and what does not fit is dropped and counted.
//
// A batch that meets no answer, or one that says "later", is sent again after growing pauses, a few
// times; then it is dropped. Any other answer but success drops it at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_function.h"
#include "observe/otlp_client.h"
#include "observe/span_json.h"
#include "observe/span_ring.h"

namespace queen::observe {

struct ExporterOptions {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string certificates;  // a file, "" = the system's
  int64_t timeout_ms = 10'000;
  int64_t schedule_delay_ms = 5'000;
  size_t wake_at = 1;  // spans in one ring that are sent before the delay is over
  int64_t first_pause_ms =
      500;  // before the second attempt to send a batch; each further one waits twice as long
  Resource resource;
  std::string version;
};

class SpanExporter {
 public:
  static constexpr size_t kBatchMax = 512;  // spans
  static constexpr int kAttemptsMax = 5;    // to send a batch

  // The rings outlive it.
  SpanExporter(ExporterOptions options, std::vector<SpanRing*> rings);
  ~SpanExporter();  // waits for the thread, but not for a collector

  void Start();
  // A span was added to a ring, and so many are in it now. By any thread; it never waits.
  void Added(size_t spans) {
    if (spans == options_.wake_at) wake_.notify_one();
  }
  // Sends what is there within `limit_ms`, drops the rest and ends the thread, which runs `done`
  // last. Once; no span is added any more. REQUIRES: started
  void Stop(int64_t limit_ms, UniqueFunction<void()> done);
  // After Stop: the limit is over.
  void Hurry();

  // Any thread.
  uint64_t exported() const { return exported_.load(std::memory_order_relaxed); }
  uint64_t given_up() const { return given_up_.load(std::memory_order_relaxed); }
  uint64_t sends_failed() const { return sends_failed_.load(std::memory_order_relaxed); }

 private:
  void Run();
  bool TakeAndSend();
  bool Send(const std::string& body);
  void Pause(int64_t ms);
  bool stopping() const { return stop_by_ms_.load() != 0; }
  int64_t TimeLeft() const;

  const ExporterOptions options_;
  const std::vector<SpanRing*> rings_;
  OtlpClient client_;
  std::atomic<uint64_t> exported_{0};
  std::atomic<uint64_t> given_up_{0};
  std::atomic<uint64_t> sends_failed_{0};
  std::atomic<int64_t> stop_by_ms_{0};  // of the steady clock; 0: it runs
  std::mutex mutex_;                    // of the waits below
  std::condition_variable wake_;        // a batch is there, or it is to stop
  std::condition_variable stop_;        // it is to stop
  UniqueFunction<void()> stopped_;      // set before stop_by_ms_
  std::thread thread_;
};

}  // namespace queen::observe
