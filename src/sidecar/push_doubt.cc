// PushQueue, batches that ended without an answer. PostgreSQL is asked whether they committed; an
// answer of no also makes sure that they never will. Until then nothing of a batch is answered, and
// its partitions are in flight.
//
// While PostgreSQL is away it cannot be asked. Then, for each partition of the batch,
//   - if every message of it has a transactionId, they go to the file buffer: whether the batch
//     has committed, commits later or never, each is stored once, because either it or the replay
//     finds the other's messages as duplicates;
//   - otherwise they stay. A message without a transactionId cannot be recognised, so it may
//     neither be buffered nor sent again. It is answered 503 `outcome_unknown` at its deadline
//     unless PostgreSQL comes back and tells before; if it turns out that it is not stored it goes
//     `ahead` of what was buffered meanwhile.
// What was pushed to these partitions since goes to the buffer in both cases.
#include <algorithm>
#include <tuple>

#include "base/planted.h"
#include "sidecar/push.h"
#include "storage/procedures.h"

namespace queen::sidecar {

void PushQueue::AskWhetherCommitted(const std::shared_ptr<Batch>& batch) {
  if (QUEEN_PLANTED(kPushedTwice)) return GoAgain(*batch);
  doubtful_.push_back(batch);
  StartTick();
}

void PushQueue::SendQuestions() {
  if (!scheduler_.AnyUp()) return;
  for (const auto& batch : doubtful_) {
    if (batch->asking) continue;
    batch->asking = true;
    pg::Params params(2);
    params.Int8(broker_).Int8(batch->n);
    scheduler_.Execute(
        *this, 1, pg::Batch(storage::kResolveBatch, std::move(params)),
        [this, batch](const pg::BatchResult& result) { OnCommitKnown(batch, result); });
  }
}

void PushQueue::OnCommitKnown(const std::shared_ptr<Batch>& batch, const pg::BatchResult& result) {
  batch->asking = false;
  if (!result.ok()) return;                       // still doubtful: asked again at the next tick
  if (std::erase(doubtful_, batch) == 0) return;  // nobody waits for it any more
  if (result.rows[0].Bool(0, 0)) {
    OnCommitted(*batch, result.rows[0]);
  } else {
    GoAgain(*batch);
  }
}

// What it stored is found again as duplicates of itself, which is only certain for items with a
// transactionId; the places of the others are in the row.
void PushQueue::OnCommitted(Batch& batch, const pg::Rows& rows) {
  GiveBackDoubtful(batch);
  const std::vector<int32_t> partitions = rows.Int4Array(0, 1);
  const std::vector<int64_t> base_seqs = rows.Int8Array(0, 2);
  pg::ArrayReader times = rows.Array(0, 3);
  std::unordered_map<int32_t, std::deque<std::pair<int64_t, int64_t>>> places;
  for (size_t i = 0; i < partitions.size() && times.Next(); ++i) {
    places[partitions[i]].emplace_back(base_seqs[i], times.TimestampTz());
  }
  for (Batch::Part& part : batch.parts) {
    auto& stored = places[part.partition->id->value];
    if (stored.size() != part.work.segments.size()) {  // it was busy or had duplicates
      Retake(*part.partition, std::move(part.work.groups));
      BecomeIdle(*part.partition);
      continue;
    }
    for (PushSegment& segment : part.work.segments) {
      std::tie(segment.segment->base_seq, segment.segment->created_micros) = stored.front();
      stored.pop_front();
      DecideQueued(part.work, segment);
    }
    ForgetIds(*part.partition);
    if (QUEEN_PLANTED(kNotAnnounced)) {
      BecomeIdle(*part.partition);
      continue;
    }
    FinishPartition(*part.partition, part.work);
  }
}

void PushQueue::ExpireDoubtful() {
  const int64_t now = loop_.NowMillis();
  for (const auto& batch : std::vector(doubtful_)) {
    for (Batch::Part& part : batch->parts) {
      for (PushGroup& group : part.work.groups) {
        if (group.call->deadline_ms <= now) Fail(group, Status(Code::kOutcomeUnknown));
      }
    }
    DropDecided(*batch);
  }
  std::erase_if(doubtful_, [](const auto& batch) { return batch->parts.empty(); });
}

// REQUIRES: Away()
void PushQueue::DivertDoubtful() {
  for (const auto& batch : std::vector(doubtful_)) {
    for (Batch::Part& part : batch->parts) {
      std::vector<PushGroup>& groups = part.work.groups;
      const bool recognisable =
          std::all_of(groups.begin(), groups.end(), [](const PushGroup& group) {
            return !group.ahead &&
                   std::all_of(group.items.begin(), group.items.end(), [&](uint32_t item) {
                     return group.call->decided[item] ||
                            !group.call->request.items[item].txn.empty();
                   });
          });
      if (recognisable) {
        for (PushGroup& group : std::exchange(groups, {})) {
          Buffer(*part.partition, std::move(group));
        }
      }
      for (PushGroup& group : groups) group.ahead = true;
      Divert(*part.partition);
    }
    DropDecided(*batch);
  }
  std::erase_if(doubtful_, [](const auto& batch) { return batch->parts.empty(); });
}

// Lets go of the partitions of which nobody waits for this batch any more.
void PushQueue::DropDecided(Batch& batch) {
  std::vector<Partition*> free;
  std::erase_if(batch.parts, [&](const Batch::Part& part) {
    const auto& groups = part.work.groups;
    const bool open = std::any_of(groups.begin(), groups.end(), [](const PushGroup& group) {
      return std::any_of(group.items.begin(), group.items.end(),
                         [&](uint32_t item) { return !group.call->decided[item]; });
    });
    if (!open) free.push_back(part.partition);
    return !open;
  });
  for (Partition* partition : free) BecomeIdle(*partition);
  if (batch.parts.empty()) GiveBackDoubtful(batch);
}

}  // namespace queen::sidecar
