#include "sidecar/lease_answer.h"

#include <algorithm>

namespace queen::sidecar {
namespace {

// Rounded down: who comes a moment too early asks again, who comes late was told that there is
// nothing.
int64_t RemainingMs(int64_t until_micros, int64_t now_micros) {
  return std::max<int64_t>(0, (until_micros - now_micros) / 1000);
}

}  // namespace

LeaseAnswer AnswerOf(const engine::LeaseOutcome& outcome, int64_t now_micros, int64_t sent_ms) {
  using State = LeaseAnswer::State;
  LeaseAnswer answer;
  switch (outcome.state) {
    case engine::LeaseState::kLeased:
      answer.state = State::kLeased;
      return answer;
    case engine::LeaseState::kDeadHead:
      answer.state = State::kAgain;
      return answer;
    case engine::LeaseState::kFull:
      answer.state = State::kFull;
      return answer;
    case engine::LeaseState::kLarge:
      answer.state = State::kLarge;
      return answer;
    case engine::LeaseState::kNotNow:
      break;
  }
  if (outcome.found.state == engine::LaneState::kUnknown) {
    answer.state = State::kAgain;
  } else if (outcome.found.ready_at_micros) {
    answer.state = State::kNotNow;
    answer.until_ms = sent_ms + RemainingMs(*outcome.found.ready_at_micros, now_micros);
  } else {
    answer.state = State::kEmpty;
  }
  return answer;
}

bool IsShort(const engine::LeaseOutcome& outcome, const engine::LogView& log,
             const engine::LeaseRequest& request) {
  const bool listed = log.known_end >= log.live_end && !log.open;
  if (outcome.state != engine::LeaseState::kLeased || listed) return false;
  const int64_t behind = outcome.end - outcome.cursor;
  const int64_t rest = std::min(log.known_end, log.live_end) - outcome.cursor;
  return outcome.messages < request.messages_left &&
         outcome.found.settled.Count(behind, rest) == std::max<int64_t>(0, rest - behind);
}

LeaseAnswer AfterAppend(LeaseAnswer answer, const engine::LeaseOutcome& outcome,
                        const storage::append_lanes::Row& appended, int64_t sent_ms) {
  using State = LeaseAnswer::State;
  switch (appended.state) {
    case engine::AppendState::kWon:
      answer.until_ms = sent_ms + outcome.lease_ms;  // as decided
      break;
    case engine::AppendState::kGone:
      answer.state = State::kGone;
      break;
    case engine::AppendState::kBusy:
      answer.state = State::kBusy;
      break;
    case engine::AppendState::kEarly:
      answer.state = State::kNotNow;
      answer.until_ms = sent_ms + RemainingMs(outcome.not_before_micros, appended.now_micros);
      break;
    case engine::AppendState::kLost:
    case engine::AppendState::kExpired:
    case engine::AppendState::kMoved:
    case engine::AppendState::kStale:
      answer.state = State::kAgain;
      break;
  }
  return answer;
}

}  // namespace queen::sidecar
