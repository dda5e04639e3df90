// What could a group be given from a lane at a moment? The one predicate of leases, waiting pops
// and rounds.
#pragma once

#include <optional>

#include "engine/lane.h"

namespace queen::engine {

enum class LaneState {
  kReady,    // messages [cursor, end) may be delivered, those settled left out
  kHeld,     // a lease lives until ready_at
  kRetry,    // a failed message waits for its retryDelay until ready_at
  kDelayed,  // the first message is not due before ready_at (delayedProcessing)
  kWindow,   // the partition is still being written to; quiet at ready_at at the earliest
             // (windowBuffer)
  kEmpty,    // nothing is left
  kUnknown,  // the log is not known at the cursor: load the lane again
};

struct Availability {
  LaneState state = LaneState::kEmpty;
  std::optional<int64_t> ready_at_micros;
  int64_t cursor = 0;  // moved past what is settled, expired, gone or hidden: a message is there if
                       // the state is kReady
  int64_t end = 0;
  bool more = false;  // messages stand behind `end`: not due yet, or not listed
  Bitmap settled;     // from `cursor` on, with what is hidden
  std::optional<int64_t> window_end;
  // kReady: it is so from this time on. The last lease and wait were over, the first message was
  // due, the partition quiet, and what is left out as expired had expired.
  int64_t since_micros = 0;
};

Availability AvailabilityOf(const Progress& progress, const QueueRules& rules, const LogView& log,
                            int64_t now_micros);

// The first offset that `log` knows whose message was created at `micros` or later; where it lists
// none, the end of what it knows.
int64_t FirstSeqAt(const LogView& log, int64_t micros);

// When the message at `seq` was created; nullopt if it is not in a listed segment.
std::optional<int64_t> CreatedAt(const LogView& log, int64_t seq);

// The listed segment with `seq` in it, or the first behind it; segments.size() if there is none.
size_t SegmentAt(const LogView& log, int64_t seq);

}  // namespace queen::engine
