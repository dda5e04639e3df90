// Stats: what one kind of operation achieved so far. One thread.
#pragma once

#include <cstdint>

#include "bench/latency.h"

namespace queen::bench {

struct Stats {
  uint64_t messages = 0;
  uint64_t requests = 0;
  Latency latency;
  Latency interval;  // since the last point of the series

  void Record(uint64_t more_messages, uint64_t more_requests, int64_t micros) {
    messages += more_messages;
    requests += more_requests;
    latency.Record(micros);
    interval.Record(micros);
  }
  void Reset() { *this = {}; }
};

}  // namespace queen::bench
