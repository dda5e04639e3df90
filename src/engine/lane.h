// A lane is one group on one partition. These are the values that the rules of this directory
// decide from; they know no database, no clock and no thread. Times are PostgreSQL's, in
// microseconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/uuid.h"
#include "engine/bitmap.h"

namespace queen::engine {

// How far a lease reaches past the cursor, and with it every bitmap.
inline constexpr int64_t kSpanMax = 10'000;

struct Lease {
  Uuid id;
  int64_t until_micros = 0;
  int64_t end = 0;  // it covers what is unsettled below this offset
  int32_t seconds = 0;

  bool operator==(const Lease&) const = default;
};

// A message that has failed, and how often.
struct Attempt {
  int64_t seq = 0;
  int32_t failures = 0;

  bool operator==(const Attempt&) const = default;
};

// A row of queen.progress. `epoch` 0: there is none yet, and `cursor` is where the group begins.
struct Progress {
  int64_t epoch = 0;
  int64_t stamp = 0;   // says which row of this epoch it is: after a crash there may be another
  int64_t cursor = 0;  // the first message that is not settled
  Bitmap settled;      // from the cursor on
  Bitmap failed;       // from the cursor on: failed in the present lease, to be delivered again
  std::vector<Attempt> attempts;  // of messages that are not settled, by seq
  std::optional<Lease> lease;
  int32_t deliveries = 0;                  // of the message at the cursor, without a verdict
  std::optional<int64_t> ready_at_micros;  // retryDelay: nothing is delivered before
  std::optional<int64_t> window_end;       // windowBuffer: released up to this offset

  bool operator==(const Progress&) const = default;
};

// What a queue's options say about its lanes. `version` changes with whatever makes other beliefs
// about the queue wrong: its options, the deletion of a partition, group or message, a group's
// start.
struct QueueRules {
  QueueId queue;
  int64_t version = 0;
  int32_t lease_seconds = 0;
  int32_t retry_limit = 0;
  int32_t retry_delay_ms = 0;
  int32_t max_deliveries = 0;         // 0: no limit
  int64_t delay_seconds = 0;          // delayedProcessing
  int64_t window_seconds = 0;         // windowBuffer
  int64_t expires_after_seconds = 0;  // the shorter of retention and maxWaitTime; 0: never

  bool operator==(const QueueRules&) const = default;
};

// A segment without its content. Message i of it was created at created_micros + i.
struct SegmentSpan {
  int64_t base_seq = 0;
  int32_t count = 0;
  int64_t created_micros = 0;
  int64_t bytes = 0;  // payloads, transactionIds and meta

  int64_t end() const { return base_seq + count; }
  bool operator==(const SegmentSpan&) const = default;
};

// What is known of a partition's log from some offset on.
struct LogView {
  int64_t from =
      0;  // the first offset that may still be delivered: what is before is gone, expired or hidden
  // The segments that still have their messages, rising, all that begin below `known_end`. Where
  // one does not begin at the end of the one before, retention has taken what was between.
  std::vector<SegmentSpan> segments;
  int64_t known_end = 0;
  int64_t end =
      0;  // of the log, as far as known: from `known_end` on segments are there but not listed
  int64_t live_end = 0;       // the same without messages at the end that are gone
  int64_t newest_micros = 0;  // when the last message was created
  Bitmap hidden;              // from `from` on: not for this group
  bool open = false;          // others may have written behind `end`
};

}  // namespace queen::engine
