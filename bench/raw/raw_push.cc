// The push procedure, called with what the broker would send: segments of `batch` messages with a
// transactionId each, `segments_per_call` partitions in a call, one call in flight per connection.
#include <fmt/format.h>

#include <atomic>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "raw/raw_connection.h"
#include "raw/raw_work.h"
#include "sidecar/push_batch.h"
#include "storage/procedures.h"

namespace queen::bench {
namespace {

std::string Payloads(const RawShape& shape) {
  std::string lines;
  for (int i = 0; i < shape.batch; ++i) {
    std::string line = fmt::format(R"({{"n":{},"text":")", i);
    while (static_cast<int>(line.size()) < shape.payload_bytes - 2) {
      line += static_cast<char>(RandomBetween(ThreadRandom(), 'a', 'z'));
    }
    lines += (i > 0 ? "\n" : "") + line + "\"}";
  }
  return lines;
}

// Fresh UUIDv7 ids, one per line; returns their common milliseconds.
int64_t Txns(int count, std::string& lines) {
  const int64_t now = WallMicros() / 1000;
  const uint64_t high = MakeUuidV7(now).high();
  const uint64_t low = (uint64_t{2} << 62) | (ThreadRandom()() >> 2);
  lines.resize(static_cast<size_t>(count) * 37 - 1);
  for (int i = 0; i < count; ++i) {
    if (i > 0) lines[static_cast<size_t>(i) * 37 - 1] = '\n';
    Uuid::FromHalves(high, low + static_cast<uint64_t>(i))
        .Format(&lines[static_cast<size_t>(i) * 37]);
  }
  return now * 1000;
}

void PushOn(const RawShape& shape, const std::vector<int32_t>& partitions, int64_t broker,
            std::atomic<int64_t>& left) {
  RawConnection connection(shape.database);
  sidecar::PushSegment push;
  auto segment = std::make_shared<storage::Segment>();
  segment->count = shape.batch;
  segment->payloads = Payloads(shape);
  push.segment = segment;
  std::vector<int64_t> ends(partitions.size(), 0);
  size_t next = 0;
  for (int64_t n = 1; left.fetch_sub(int64_t{shape.segments_per_call} * shape.batch) > 0; ++n) {
    sidecar::PushParams params(static_cast<size_t>(shape.segments_per_call));
    std::vector<size_t> asked;
    for (int i = 0; i < shape.segments_per_call; ++i) {
      const int64_t time = Txns(shape.batch, segment->txns);
      push.txn_min = std::string_view(segment->txns).substr(0, 36);
      push.txn_max = std::string_view(segment->txns).substr(segment->txns.size() - 36);
      push.time_min = push.time_max = time;
      params.Add({partitions[next]}, push, 0, ends[next]);
      asked.push_back(next);
      next = (next + 1) % partitions.size();
    }
    const pg::Rows rows =
        connection.Execute(storage::kPushMessages, std::move(params).Take(broker, n));
    for (int row = 0; row < rows.rows(); ++row) {
      const size_t place = asked[static_cast<size_t>(rows.Int4(row, 0)) - 1];
      if (rows.Text(row, 1) != "queued") {
        fmt::print(stderr, "raw_reference: a push was answered {}\n", rows.Text(row, 1));
        std::exit(1);
      }
      ends[place] = rows.Int8(row, 2) + shape.batch;
    }
  }
}

}  // namespace

RawResult RawPush(const RawShape& shape, const std::vector<int32_t>& partitions) {
  std::atomic<int64_t> left = shape.messages;
  const double seconds = OnEachConnection(shape, partitions, [&](const std::vector<int32_t>& own) {
    PushOn(shape, own, static_cast<int64_t>(ThreadRandom()() >> 1), left);
  });
  const int64_t per_call = int64_t{shape.segments_per_call} * shape.batch;
  return {(shape.messages + per_call - 1) / per_call * per_call, seconds};
}

}  // namespace queen::bench
