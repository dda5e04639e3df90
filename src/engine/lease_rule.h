// Leases: what a pop is given from a lane, and the state behind it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/availability.h"

namespace queen::engine {

// What a pop asks of a lane. A pop that takes of several lanes asks one after the other, each time
// with what is left.
struct LeaseRequest {
  Uuid lease_id;              // made by the caller: who asks again with it gets the same lease
  int32_t seconds = 0;        // 0: as the queue says
  bool auto_ack = false;      // settle what is delivered at once and hold no lease
  int64_t messages_left = 0;  // may still be given
  int64_t bytes_left = 0;
  int64_t bytes_max = 0;  // of the whole pop
};

enum class LeaseState {
  kLeased,    // deliver [cursor, end) without the settled
  kDeadHead,  // the first message was delivered too often: it goes to the dead letters, then ask
              // again
  kNotNow,    // see Availability
  kFull,      // nothing more fits into the pop
  kLarge,     // the first segment is larger than the pop may be given: `bytes`
};

struct DeadLetter {
  int64_t seq = 0;
  std::string error;
  int32_t failures = 0;

  bool operator==(const DeadLetter&) const = default;
};

struct LeaseOutcome {
  LeaseState state = LeaseState::kNotNow;
  Availability found;
  // The row to append; none when the lane is held by this very lease, and unless kLeased or
  // kDeadHead. Its lease and ready_at have no times yet: PostgreSQL gives them (`lease_ms`).
  std::optional<Progress> next;
  int64_t lease_ms = 0;
  // The append counts only if it happens at this time or later.
  int64_t not_before_micros = 0;
  // ... and only if the log ends there: its row says how far the window is open.
  std::optional<int64_t> log_end;
  std::vector<DeadLetter> dead;

  // kLeased
  int64_t cursor = 0;
  int64_t end = 0;
  Bitmap settled;  // from the cursor on
  std::vector<Attempt> attempts;
  std::vector<SegmentSpan> segments;  // that it needs
  bool whole = false;                 // nothing is behind it, or only what is settled
  int64_t messages = 0;               // 0 only for a lease given again of which nothing is left
  int64_t bytes = 0;                  // of the segments; kLarge: of the first
};

LeaseOutcome DecideLease(const Progress& progress, const QueueRules& rules, const LogView& log,
                         const LeaseRequest& request, int64_t now_micros);

}  // namespace queen::engine
