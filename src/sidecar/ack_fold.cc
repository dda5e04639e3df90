#include "sidecar/ack_fold.h"

#include <algorithm>
#include <unordered_set>

namespace queen::sidecar {
namespace {

int64_t SeqOf(const AckGroup& group, uint32_t item) { return *group.call->targets[item].seq; }

int64_t LowestSeq(const std::vector<AckGroup>& groups) {
  int64_t lowest = INT64_MAX;
  for (const AckGroup& group : groups) {
    for (const uint32_t item : group.items) lowest = std::min(lowest, SeqOf(group, item));
  }
  return lowest;
}

}  // namespace

AckFold Fold(std::vector<AckGroup>& groups, std::vector<AckGroup>& too_far) {
  AckFold fold;
  fold.base = LowestSeq(groups);
  std::unordered_set<int64_t> judged;  // messages that have their verdict
  for (AckGroup& group : groups) {
    AckGroup rest{group.call, group.lease_id, {}, group.alone};
    std::erase_if(group.items, [&](uint32_t item) {
      if (SeqOf(group, item) - fold.base < kAckSpanMax) return false;
      rest.items.push_back(item);
      return true;
    });
    if (!rest.items.empty()) too_far.push_back(std::move(rest));
    for (const uint32_t item : group.items) {
      const AckItem& ack = group.call->request.items[item];
      const int64_t seq = SeqOf(group, item);
      if (ack.verdict == Verdict::kRetry) {
        fold.retry_from = std::min(fold.retry_from.value_or(seq), seq);
        continue;
      }
      if (ack.cumulative) {
        const int64_t last = ack.verdict == Verdict::kCompleted ? seq : seq - 1;
        fold.cumulative = std::max(fold.cumulative.value_or(last), last);
      }
      if (!judged.insert(seq).second) continue;
      if (ack.verdict == Verdict::kCompleted) {
        const auto place = static_cast<size_t>(seq - fold.base);
        if (fold.done.size() <= place) fold.done.resize(place + 1, '0');
        fold.done[place] = '1';
      } else {
        fold.singles.push_back({seq, ack.verdict == Verdict::kDeadLetter, ack.message});
      }
    }
  }
  return fold;
}

AckOutcome Judge(const AckAnswer& answer, int64_t seq) {
  AckOutcome outcome;
  if (answer.state == AckAnswer::State::kGone) {
    outcome.error = "Message not found";
    return outcome;
  }
  const bool settled_before =
      answer.cursor &&
      (seq < *answer.cursor || (static_cast<size_t>(seq - *answer.cursor) < answer.settled.size() &&
                                answer.settled[static_cast<size_t>(seq - *answer.cursor)] == '1'));
  const bool accepted = answer.state == AckAnswer::State::kApplied && seq < answer.lease_end;
  if (!settled_before && !accepted) {
    outcome.error = "Invalid or expired lease";
    return outcome;
  }
  outcome.success = true;
  outcome.lease_released = accepted && answer.released;
  outcome.dead_lettered =
      std::find(answer.dead.begin(), answer.dead.end(), seq) != answer.dead.end();
  return outcome;
}

}  // namespace queen::sidecar
