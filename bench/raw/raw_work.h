// What raw_push and raw_drain share: the shape of the work, and who owns which partitions. Each
// connection has partitions of its own, as each of the broker's batches does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace queen::bench {

struct RawShape {
  std::string database;
  int connections = 2;
  int partitions = 100;
  int segments_per_call = 10;
  int batch = 100;  // messages in a segment
  int payload_bytes = 200;
  int64_t messages = 1'000'000;
};

struct RawResult {
  int64_t messages = 0;
  double seconds = 0;
};

// Makes the partitions (named p0, p1, ...) of `queue`; their ids in order.
std::vector<int32_t> MakePartitions(const RawShape& shape, const std::string& queue);

// Calls `work` once per connection, each on a thread with a share of the partitions; the seconds
// until all have ended.
double OnEachConnection(const RawShape& shape, const std::vector<int32_t>& partitions,
                        const std::function<void(const std::vector<int32_t>& own)>& work);

// `messages` into the partitions, by segments, on all connections at once.
RawResult RawPush(const RawShape& shape, const std::vector<int32_t>& partitions);

// Everything out of them again: lease, fetch and ack of `segments_per_call` partitions at a time.
RawResult RawDrain(const RawShape& shape, const std::string& queue,
                   const std::vector<int32_t>& partitions);

}  // namespace queen::bench
