#include "engine/availability.h"

#include <algorithm>

namespace queen::engine {
namespace {

constexpr int64_t kSecond = 1'000'000;

// `progress.settled` and what is hidden, as seen from `cursor`, no further than a lease may reach.
Bitmap SettledFrom(const Progress& progress, const LogView& log, int64_t cursor) {
  Bitmap settled =
      progress.settled.empty() ? Bitmap() : progress.settled.From(cursor - progress.cursor);
  if (!log.hidden.empty()) settled |= log.hidden.From(cursor - log.from).Cut(kSpanMax);
  return settled;
}

// The first offset at or behind `seq` whose message is still there, as far as `log` lists them.
int64_t SkipGone(const LogView& log, int64_t seq) {
  const size_t at = SegmentAt(log, seq);
  if (at < log.segments.size()) return std::max(seq, log.segments[at].base_seq);
  return std::max(seq, log.known_end);
}

// Moves `cursor` to the first message that may be delivered, and `settled` with it.
void MoveToFirst(const Progress& progress, const LogView& log, int64_t& cursor, Bitmap& settled) {
  while (true) {
    cursor = SkipGone(log, cursor);
    settled = SettledFrom(progress, log, cursor);
    const int64_t leading = settled.Leading();
    if (leading == 0) return;
    cursor += leading;
  }
}

// When the last message that `log` lists before `seq` was created; 0 if there is none.
int64_t CreatedBefore(const LogView& log, int64_t seq) {
  const size_t at = SegmentAt(log, seq - 1);
  if (at < log.segments.size() && log.segments[at].base_seq < seq) return *CreatedAt(log, seq - 1);
  return at == 0 ? 0 : *CreatedAt(log, log.segments[at - 1].end() - 1);
}

// Leaves out what is past its retention or maximum wait, whether it was swept or not.
void SkipExpired(const QueueRules& rules, const LogView& log, int64_t now_micros,
                 Availability& found) {
  if (rules.expires_after_seconds <= 0) return;
  const int64_t age = rules.expires_after_seconds * kSecond;
  const int64_t first = FirstSeqAt(log, now_micros - age);
  if (first <= found.cursor) return;
  found.cursor = first;
  if (const int64_t last = CreatedBefore(log, first); last > 0) found.since_micros = last + age + 1;
}

// How far the window is open (windowBuffer).
void OpenWindow(const Progress& progress, const QueueRules& rules, const LogView& log,
                int64_t now_micros, Availability& found) {
  if (rules.window_seconds <= 0) return;
  const int64_t quiet_at = log.newest_micros + rules.window_seconds * kSecond;
  if (quiet_at > now_micros) {
    found.window_end = progress.window_end.value_or(0);
  } else if (progress.window_end != log.end) {
    found.window_end = log.end;
    found.since_micros = std::max(found.since_micros, quiet_at);
  } else {
    found.window_end = log.end;  // it was open before
  }
}

// The end of the waits that `progress` speaks of.
int64_t WaitedUntil(const Progress& progress) {
  return std::max(progress.lease ? progress.lease->until_micros : 0,
                  progress.ready_at_micros.value_or(0));
}

}  // namespace

size_t SegmentAt(const LogView& log, int64_t seq) {
  const auto found =
      std::partition_point(log.segments.begin(), log.segments.end(),
                           [seq](const SegmentSpan& segment) { return segment.end() <= seq; });
  return static_cast<size_t>(found - log.segments.begin());
}

int64_t FirstSeqAt(const LogView& log, int64_t micros) {
  const auto found = std::partition_point(
      log.segments.begin(), log.segments.end(), [micros](const SegmentSpan& segment) {
        return segment.created_micros + segment.count - 1 < micros;
      });
  if (found == log.segments.end()) return log.known_end;
  return found->base_seq + std::max<int64_t>(0, micros - found->created_micros);
}

std::optional<int64_t> CreatedAt(const LogView& log, int64_t seq) {
  const size_t at = SegmentAt(log, seq);
  if (at == log.segments.size() || log.segments[at].base_seq > seq) return std::nullopt;
  return log.segments[at].created_micros + (seq - log.segments[at].base_seq);
}

Availability AvailabilityOf(const Progress& progress, const QueueRules& rules, const LogView& log,
                            int64_t now_micros) {
  Availability found;
  found.cursor = std::max(progress.cursor, log.from);
  SkipExpired(rules, log, now_micros, found);
  MoveToFirst(progress, log, found.cursor, found.settled);

  found.end = std::min(log.live_end, log.known_end);
  OpenWindow(progress, rules, log, now_micros, found);
  const int64_t delay = rules.delay_seconds * kSecond;
  const int64_t due_end = delay > 0 ? FirstSeqAt(log, now_micros - delay + 1) : found.end;

  if (progress.lease && progress.lease->until_micros > now_micros) {
    found.state = LaneState::kHeld;
    found.ready_at_micros = progress.lease->until_micros;
  } else if (found.cursor >= log.live_end) {
    found.state = log.open ? LaneState::kUnknown : LaneState::kEmpty;
  } else if (found.cursor >= log.known_end) {
    found.state = LaneState::kUnknown;
  } else if (progress.ready_at_micros > now_micros) {
    found.state = LaneState::kRetry;
    found.ready_at_micros = progress.ready_at_micros;
  } else if (found.cursor >= due_end) {
    found.state = LaneState::kDelayed;
    found.ready_at_micros = *CreatedAt(log, found.cursor) + delay;
  } else if (found.window_end && found.cursor >= *found.window_end) {
    found.state = LaneState::kWindow;
    found.ready_at_micros = log.newest_micros + rules.window_seconds * kSecond;
  } else {
    found.state = LaneState::kReady;
    found.since_micros = std::max(found.since_micros, WaitedUntil(progress));
    if (delay > 0) {
      found.since_micros = std::max(found.since_micros, *CreatedAt(log, found.cursor) + delay);
    }
  }
  found.end = std::min(found.end, due_end);
  if (found.window_end) found.end = std::min(found.end, *found.window_end);
  found.more = found.end < log.live_end || log.open;
  return found;
}

}  // namespace queen::engine
