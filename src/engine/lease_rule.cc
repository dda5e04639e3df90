#include "engine/lease_rule.h"

#include <algorithm>

namespace queen::engine {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr const char* kDeliveredTooOften = "delivered too often without a verdict";

// The message at the cursor was leased so often that no consumer seems to survive it.
bool HasDeadHead(const Progress& progress, const QueueRules& rules, const Availability& found) {
  return rules.max_deliveries > 0 && progress.deliveries >= rules.max_deliveries &&
         progress.lease && found.cursor == progress.cursor;
}

std::vector<Attempt> AttemptsFrom(const Progress& progress, int64_t cursor) {
  std::vector<Attempt> attempts;
  std::copy_if(progress.attempts.begin(), progress.attempts.end(), std::back_inserter(attempts),
               [cursor](const Attempt& attempt) { return attempt.seq >= cursor; });
  return attempts;
}

// The state with the cursor at `cursor` and no lease. `settled` counts from `found.cursor`.
Progress MovedTo(const Progress& progress, const Availability& found, int64_t cursor) {
  Progress next;
  next.epoch = progress.epoch + 1;
  next.cursor = cursor;
  next.settled = found.settled.From(cursor - found.cursor);
  next.attempts = AttemptsFrom(progress, cursor);
  next.window_end = found.window_end;
  return next;
}

// Takes `found.cursor` out, and what is settled behind it.
void TakeDeadHead(const Progress& progress, LeaseOutcome& outcome) {
  const Availability& found = outcome.found;
  outcome.state = LeaseState::kDeadHead;
  const int64_t behind = 1 + found.settled.From(1).Leading();
  outcome.next = MovedTo(progress, found, found.cursor + behind);
  int32_t failures = 0;
  for (const Attempt& attempt : progress.attempts) {
    if (attempt.seq == found.cursor) failures = attempt.failures;
  }
  outcome.dead.push_back({found.cursor, kDeliveredTooOften, failures});
}

// The segments from the cursor up to `want_end`, one after the other without a hole, as far as they
// fit.
void TakeSegments(const LogView& log, const LeaseRequest& request, int64_t want_end,
                  LeaseOutcome& outcome) {
  const size_t first = SegmentAt(log, outcome.found.cursor);
  for (size_t i = first; i < log.segments.size() && log.segments[i].base_seq < want_end; ++i) {
    const SegmentSpan& segment = log.segments[i];
    if (i > first && segment.base_seq != log.segments[i - 1].end()) break;
    const int64_t bytes = outcome.bytes + segment.bytes;
    if (i == first && bytes > request.bytes_max) {
      outcome.state = LeaseState::kLarge;
      outcome.bytes = bytes;
      return;
    }
    if (bytes > request.bytes_left) break;
    outcome.bytes = bytes;
    outcome.segments.push_back(segment);
  }
  outcome.state = outcome.segments.empty() ? LeaseState::kFull : LeaseState::kLeased;
}

// The segments may reach further than the last message that is not settled: the lease ends there.
void EndAtLastMessage(const Availability& found, int64_t reach, LeaseOutcome& outcome) {
  outcome.messages = reach - found.cursor - found.settled.Count(0, reach - found.cursor);
  outcome.end = found.cursor + found.settled.BehindZero(outcome.messages);
  while (outcome.segments.back().base_seq >= outcome.end) {
    outcome.bytes -= outcome.segments.back().bytes;
    outcome.segments.pop_back();
  }
}

// Counts what is delivered: some of a lease may be gone by the time it is given again.
int64_t MessagesOf(const LeaseOutcome& outcome) {
  int64_t messages = 0;
  for (const SegmentSpan& segment : outcome.segments) {
    const int64_t from = std::max(segment.base_seq, outcome.cursor) - outcome.cursor;
    const int64_t to = std::min(segment.end(), outcome.end) - outcome.cursor;
    messages += to - from - outcome.settled.Count(from, to);
  }
  return messages;
}

// The lane is held by the lease that asks: its answer was lost, and is given again.
// REQUIRES: all of it is listed
LeaseOutcome GiveAgain(const Progress& progress, const LogView& log, LeaseOutcome outcome) {
  outcome.state = LeaseState::kLeased;
  outcome.end = progress.lease->end;
  outcome.cursor = outcome.found.cursor;
  outcome.settled = outcome.found.settled.Cut(outcome.end - outcome.cursor);
  outcome.attempts = AttemptsFrom(progress, outcome.cursor);
  const bool any_left = outcome.cursor < outcome.end;
  for (size_t i = SegmentAt(log, outcome.cursor); any_left && i < log.segments.size(); ++i) {
    if (log.segments[i].base_seq >= outcome.end) break;
    outcome.segments.push_back(log.segments[i]);
    outcome.bytes += log.segments[i].bytes;
  }
  outcome.messages = MessagesOf(outcome);
  return outcome;
}

}  // namespace

LeaseOutcome DecideLease(const Progress& progress, const QueueRules& rules, const LogView& log,
                         const LeaseRequest& request, int64_t now_micros) {
  LeaseOutcome outcome;
  outcome.found = AvailabilityOf(progress, rules, log, now_micros);
  const Availability& found = outcome.found;
  if (found.state == LaneState::kHeld && progress.lease->id == request.lease_id) {
    if (log.known_end < std::min(progress.lease->end, log.live_end)) {
      outcome.found.state = LaneState::kUnknown;
      return outcome;
    }
    return GiveAgain(progress, log, std::move(outcome));
  }
  if (found.state != LaneState::kReady) return outcome;
  outcome.not_before_micros = found.since_micros;
  if (rules.window_seconds > 0) outcome.log_end = log.end;
  if (HasDeadHead(progress, rules, found)) {
    TakeDeadHead(progress, outcome);
    return outcome;
  }
  if (request.messages_left <= 0) {
    outcome.state = LeaseState::kFull;
    return outcome;
  }
  const int64_t want_end = std::min({found.cursor + found.settled.BehindZero(request.messages_left),
                                     found.end, found.cursor + kSpanMax});
  TakeSegments(log, request, want_end, outcome);
  if (outcome.state != LeaseState::kLeased) return outcome;

  const int64_t reach = std::min(want_end, outcome.segments.back().end());
  outcome.whole = reach >= log.live_end && !found.more;
  EndAtLastMessage(found, reach, outcome);
  outcome.cursor = found.cursor;
  outcome.settled = found.settled.Cut(outcome.end - outcome.cursor);
  outcome.attempts = AttemptsFrom(progress, outcome.cursor);
  if (rules.delay_seconds > 0) {
    outcome.not_before_micros =
        std::max(outcome.not_before_micros,
                 *CreatedAt(log, outcome.end - 1) + rules.delay_seconds * kSecond);
  }

  if (request.auto_ack) {
    const int64_t behind = outcome.end - found.cursor;
    outcome.next = MovedTo(progress, found, outcome.end + found.settled.From(behind).Leading());
    return outcome;
  }
  const int32_t seconds = request.seconds > 0 ? request.seconds : rules.lease_seconds;
  outcome.lease_ms = int64_t{seconds} * 1000;
  outcome.next = MovedTo(progress, found, found.cursor);
  outcome.next->lease = Lease{request.lease_id, 0, outcome.end, seconds};
  outcome.next->deliveries = found.cursor == progress.cursor ? progress.deliveries + 1 : 1;
  return outcome;
}

}  // namespace queen::engine
