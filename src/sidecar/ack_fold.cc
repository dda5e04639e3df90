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

AckGroup& Join(std::deque<AckGroup>& groups, const std::shared_ptr<AckCall>& call,
               const std::optional<Uuid>& lease) {
  bool first = true;
  for (AckGroup& group : groups) {
    if (group.call != call) continue;
    if (!lease || group.lease_id == lease) return group;
    if (!group.lease_id) {
      group.lease_id = lease;
      return group;
    }
    first = false;
  }
  if (!first) call->several_leases = true;
  groups.push_back({call, lease, {}, false});
  return groups.back();
}

void PassOn(AckGroup& refused, std::deque<AckGroup>& groups) {
  const AckCall& call = *refused.call;
  AckGroup rest{refused.call, std::nullopt, {}, refused.alone};
  std::erase_if(refused.items, [&](uint32_t item) {
    if (call.request.items[item].lease_id) return false;
    rest.items.push_back(item);
    return true;
  });
  if (rest.items.empty()) return;
  const auto next = std::find_if(groups.begin(), groups.end(), [&](const AckGroup& group) {
    return group.call == refused.call && group.lease_id != refused.lease_id;
  });
  if (next == groups.end()) {
    groups.push_front(std::move(rest));
  } else {
    next->items.insert(next->items.end(), rest.items.begin(), rest.items.end());
    std::sort(next->items.begin(), next->items.end());  // verdicts count in the order of the call
  }
}

engine::Verdicts Fold(std::vector<AckGroup>& groups, std::vector<AckGroup>& too_far) {
  using engine::VerdictKind;
  engine::Verdicts fold;
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
        fold.singles.push_back({seq, VerdictKind::kRetry, {}});
        if (ack.cumulative) fold.singles.push_back({seq, VerdictKind::kBefore, {}});
        continue;
      }
      if (judged.insert(seq).second) {
        if (ack.verdict == Verdict::kCompleted) {
          fold.done.Set(seq - fold.base);
        } else {
          const bool dead = ack.verdict == Verdict::kDeadLetter;
          fold.singles.push_back(
              {seq, dead ? VerdictKind::kDeadLetter : VerdictKind::kFailed, ack.message});
        }
      }
      if (ack.cumulative) fold.singles.push_back({seq, VerdictKind::kCumulative, {}});
    }
  }
  std::erase_if(groups, [](const AckGroup& group) { return group.items.empty(); });
  return fold;
}

bool IsRepeatable(const engine::Verdicts& verdicts) {
  return std::all_of(verdicts.singles.begin(), verdicts.singles.end(),
                     [](const engine::SingleVerdict& single) {
                       return single.kind == engine::VerdictKind::kCumulative;
                     });
}

AckOutcome Refusal(const state::AckTarget& target, std::string error) {
  AckOutcome outcome;
  outcome.queue_name = target.queue_name;
  outcome.partition_name = target.partition_name;
  outcome.error = std::move(error);
  return outcome;
}

bool WasSettled(const AckAnswer& answer, int64_t seq) {
  return answer.cursor && (seq < *answer.cursor || answer.settled.Get(seq - *answer.cursor));
}

AckOutcome Judge(const AckAnswer& answer, int64_t seq, bool cumulative) {
  AckOutcome outcome;
  if (answer.state == AckAnswer::State::kGone) {
    outcome.error = "Message not found";
    return outcome;
  }
  const bool settled_before = WasSettled(answer, seq);
  const bool accepted = answer.state == AckAnswer::State::kApplied && seq < answer.lease_end;
  if (!settled_before && !accepted) {
    outcome.error = "Invalid or expired lease";
    return outcome;
  }
  outcome.success = true;
  // An ack of a settled message has no part in the end of the lease, unless it settled others.
  const bool counted = accepted && (!settled_before || (cumulative && seq >= *answer.cursor));
  outcome.lease_released = counted && answer.released;
  outcome.dead_lettered =
      std::find(answer.dead.begin(), answer.dead.end(), seq) != answer.dead.end();
  return outcome;
}

}  // namespace queen::sidecar
