#include <algorithm>

#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/push.h"

namespace queen::simulator {
namespace {

// The first segment with messages at or behind `seq`, of those from the one that holds it on.
std::optional<int64_t> FirstLiveBase(const Transaction& reader, const Catalog& catalog,
                                     int32_t partition_id, int64_t seq) {
  const auto holding = SegmentAt(reader, catalog, partition_id, seq);
  const int64_t from = holding.first == nullptr ? 0 : holding.first->base_seq;
  std::optional<int64_t> base;
  catalog.segments.Walk(reader, {partition_id, from}, {partition_id, kSeqEnd},
                        [&](const SegmentKey& key, const SegmentRow& row) {
                          if (row.texts == nullptr || key.base_seq + row.count <= seq) return true;
                          base = key.base_seq;
                          return false;
                        });
  return base;
}

// queen.behind_hidden where nothing is hidden.
int64_t BehindSettled(const Transaction& reader, const Catalog& catalog, int32_t partition_id,
                      int64_t from, const Bits& settled) {
  int64_t cursor = from;
  for (;;) {
    const int64_t step = BitsLeading(BitsFrom(settled, cursor - from));
    if (step == 0) return cursor;
    cursor += step;
    const auto stored = FirstLiveBase(reader, catalog, partition_id, cursor);
    cursor = std::max(cursor, stored.value_or(cursor));
  }
}

std::optional<int64_t> LiveEnd(const Transaction& reader, const Catalog& catalog,
                               int32_t partition_id) {
  std::optional<int64_t> end;
  catalog.segments.WalkDown(reader, {partition_id, 0}, {partition_id, kSeqEnd},
                            [&](const SegmentKey& key, const SegmentRow& row) {
                              if (row.texts == nullptr) return true;
                              end = key.base_seq + row.count;
                              return false;
                            });
  return end;
}

std::optional<int32_t> ExpiresAfter(const QueueRow& queue) {
  std::optional<int32_t> seconds;
  if (queue.retention_enabled.value_or(true) && queue.retention_seconds != 0) {
    seconds = queue.retention_seconds;
  }
  if (queue.max_wait_time_seconds != 0) {
    seconds = std::min(seconds.value_or(queue.max_wait_time_seconds), queue.max_wait_time_seconds);
  }
  return seconds;
}

}  // namespace

int64_t StartOf(const Transaction& reader, const Catalog& catalog, LaneId lane,
                const GroupRow& group) {
  switch (group.start_mode) {
    case StartMode::kAll:
      return 0;
    case StartMode::kNew: {
      const GroupStartRow* start =
          catalog.group_starts.Find(reader, {lane.group_id, lane.partition_id});
      return start == nullptr ? 0 : start->seq;
    }
    case StartMode::kTime:
      return FirstSeqAt(reader, catalog, lane.partition_id, group.start_time.value_or(0));
  }
  return 0;
}

std::optional<LaneState> StateOf(const Transaction& reader, const Catalog& catalog, LaneId lane,
                                 int64_t now) {
  LaneState state;
  state.partition = catalog.partitions.Find(reader, lane.partition_id);
  if (state.partition == nullptr) return std::nullopt;
  state.queue = catalog.queues.Find(reader, state.partition->queue_id);
  const GroupRow* group = catalog.groups.Find(reader, lane.group_id);
  if (state.queue == nullptr || group == nullptr || group->queue_id != state.partition->queue_id) {
    return std::nullopt;
  }
  const auto [key, progress] = NewestProgress(reader, catalog, lane);
  state.progress = progress;
  if (key != nullptr) state.epoch = key->epoch;

  const auto end = EndOfLog(reader, catalog, lane.partition_id);
  if (end) {
    state.seq_end = end->seq_end;
    state.newest_at = end->created_at + end->count - 1;
    state.live_end = end->blank ? LiveEnd(reader, catalog, lane.partition_id) : end->seq_end;
  }
  state.old_cursor =
      progress == nullptr ? StartOf(reader, catalog, lane, *group) : progress->cursor;
  state.expires_after = ExpiresAfter(*state.queue);
  int64_t from = state.old_cursor;
  if (state.expires_after) {
    from = std::max(from, FirstSeqAt(reader, catalog, lane.partition_id,
                                     now - int64_t{*state.expires_after} * 1'000'000));
  }
  if (end && from < end->base_seq) {
    from = std::max(from, FirstLiveBase(reader, catalog, lane.partition_id, from).value_or(from));
  }
  state.cursor = from;
  if (progress != nullptr && progress->settled && from > state.old_cursor) {
    state.cursor = BehindSettled(reader, catalog, lane.partition_id, from,
                                 BitsFrom(progress->settled, from - state.old_cursor));
  }
  return state;
}

std::optional<Available> AvailabilityOf(const Transaction& reader, const Catalog& catalog,
                                        LaneId lane, int64_t now) {
  const auto state = StateOf(reader, catalog, lane, now);
  if (!state) return std::nullopt;
  const QueueRow& queue = *state->queue;
  const ProgressRow* progress = state->progress;
  if (progress != nullptr && progress->lease_id && progress->lease_until > now) {
    return Available{Availability::kHeld, progress->lease_until};
  }
  if (state->cursor >= state->live_end.value_or(0)) return Available{};
  if (progress != nullptr && progress->ready_at > now) {
    return Available{Availability::kRetry, progress->ready_at};
  }
  std::optional<int64_t> due_end;
  if (queue.delayed_processing > 0) {
    due_end = FirstSeqAt(reader, catalog, lane.partition_id,
                         now - int64_t{queue.delayed_processing} * 1'000'000 + 1);
    if (state->cursor >= *due_end) {
      const auto [key, row] = SegmentAt(reader, catalog, lane.partition_id, state->cursor);
      std::optional<int64_t> due;
      if (row != nullptr) {
        due = row->created_at + (state->cursor - key->base_seq) +
              int64_t{queue.delayed_processing} * 1'000'000;
      }
      return Available{Availability::kDelayed, due};
    }
  }
  std::optional<int64_t> window_end;
  if (queue.window_buffer > 0) {
    const int64_t window = int64_t{queue.window_buffer} * 1'000'000;
    const bool open = state->newest_at > now - window;
    window_end = open ? (progress == nullptr ? 0 : progress->window_end.value_or(0))
                      : state->seq_end.value_or(0);
    if (state->cursor >= *window_end) {
      return Available{Availability::kWindow, *state->newest_at + window};
    }
  }
  if ((due_end && due_end < state->live_end) || (window_end && window_end < state->live_end)) {
    return Available{Availability::kReady, now};
  }
  return Available{Availability::kReady, std::nullopt};
}

AdvisoryKey LockOfLane(LaneId lane) {
  const uint64_t both =
      (static_cast<uint64_t>(lane.partition_id) << 32) | static_cast<uint32_t>(lane.group_id);
  return {kLaneLockClass, static_cast<int32_t>((both * 0x9E3779B97F4A7C15U) >> 32)};
}

int64_t MillisUntil(int64_t time, int64_t now, int64_t least) {
  const int64_t micros = time - now;
  return std::max(least, micros > 0 ? (micros + 999) / 1000 : micros / 1000);
}

}  // namespace queen::simulator
