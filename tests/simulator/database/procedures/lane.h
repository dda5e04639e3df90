// Where a group stands on a partition: queen.lane_state and queen.availability.
#pragma once

#include <optional>
#include <string>

#include "simulator/database/catalog.h"
#include "simulator/database/procedures/bits.h"

namespace queen::simulator {

inline constexpr int64_t kSpanMax = 10'000;  // how far a lease reaches past the cursor

// The columns of queen.lane_state. `progress` is null without a row; pointers are valid until the
// tables are changed.
struct LaneState {
  const PartitionRow* partition = nullptr;
  const QueueRow* queue = nullptr;
  int64_t epoch = 0;
  const ProgressRow* progress = nullptr;
  std::optional<int32_t> expires_after;
  int64_t old_cursor = 0;
  std::optional<int64_t> seq_end;
  std::optional<int64_t> live_end;
  std::optional<int64_t> newest_at;
  int64_t cursor = 0;

  // What is settled from `cursor` on.
  Bits Settled() const {
    return progress == nullptr ? std::nullopt : BitsFrom(progress->settled, cursor - old_cursor);
  }
};
std::optional<LaneState> StateOf(const Transaction& reader, const Catalog& catalog, LaneId lane,
                                 int64_t now);

enum class Availability { kReady, kHeld, kRetry, kDelayed, kWindow, kEmpty };
struct Available {
  Availability state = Availability::kEmpty;
  std::optional<int64_t> ready_at;
};
// nullopt: partition, queue or group is gone.
std::optional<Available> AvailabilityOf(const Transaction& reader, const Catalog& catalog,
                                        LaneId lane, int64_t now);

// The newest row of queen.progress, or nulls.
std::pair<const ProgressKey*, const ProgressRow*> NewestProgress(const Transaction& reader,
                                                                 const Catalog& catalog,
                                                                 LaneId lane);
// INSERT .. ON CONFLICT DO NOTHING: whether it was inserted.
Task<bool> InsertProgress(Transaction& writer, Catalog& catalog, ProgressKey key, ProgressRow row);
// queen.drop_stale_progress for one row that was inserted: whether it has lost, and was removed.
Task<bool> DropIfStale(Transaction& writer, Catalog& catalog, ProgressKey key);

struct DeadMessage {
  LaneId lane;
  int64_t seq = 0;
  std::optional<std::string> error;
  int32_t failures = 0;
};
// queen.dead_letter
Task<void> InsertDeadLetters(Transaction& writer, Catalog& catalog,
                             std::vector<DeadMessage> messages);

// Where a group without progress begins on a partition.
int64_t StartOf(const Transaction& reader, const Catalog& catalog, LaneId lane,
                const GroupRow& group);

// The lock of a lane that has no row yet.
AdvisoryKey LockOfLane(LaneId lane);

// ceil of so many microseconds in milliseconds, at least `least`.
int64_t MillisUntil(int64_t time, int64_t now, int64_t least);

}  // namespace queen::simulator
