// PushQueue, the leases that a batch carries to pops that wait for what it pushes (hand_over.h).
#include <utility>

#include "base/log.h"
#include "sidecar/lane_answers.h"
#include "sidecar/push.h"

namespace queen::sidecar {

// Where they are; before they are stored only their counts and bytes mean something.
std::vector<engine::SegmentSpan> PushQueue::SpansOf(const PushWork& work) {
  std::vector<engine::SegmentSpan> spans;
  for (const PushSegment& pushed : work.segments) {
    const storage::Segment& segment = *pushed.segment;
    spans.push_back({segment.base_seq, segment.count, segment.created_micros,
                     static_cast<int64_t>(segment.bytes())});
  }
  return spans;
}

void PushQueue::CarryLeases(Batch& batch) {
  batch.leases = hand_over_.BeginCarried();
  batch.generation = lanes_.generation();
  int32_t first_segment = 0;
  for (size_t p = 0; p < batch.parts.size(); ++p) {
    const Batch::Part& part = batch.parts[p];
    for (engine::LaneAppend& append : hand_over_.CarryWithPush(
             *batch.leases, part.partition->queue, *part.partition->id, SpansOf(part.work))) {
      batch.carried.push_back({std::move(append), first_segment});
      batch.carried_parts.push_back(p);
    }
    first_segment += static_cast<int32_t>(part.work.segments.size());
  }
}

// The segments first: a lease is about what is stored, and where.
void PushQueue::OnStored(const std::shared_ptr<Batch>& batch, const pg::Rows& rows) {
  if (batch->carried.empty()) return OnAnswered(*batch, rows, rows.rows());
  const auto answer = storage::push_and_lease::Decode(rows);
  if (!answer.ok()) {
    log::ErrorRarely("the answer to a push cannot be read; asking whether it committed",
                     {{"batch", batch->n}, {"error", answer.status().message()}});
    DoubtLeases(*batch);
    AskWhetherCommitted(batch);
    return;
  }
  OnAnswered(*batch, rows, answer->pushed);
  for (const storage::append_lanes::Row& lease : answer->leases) {
    const PushWork& work = batch->parts[batch->carried_parts[lease.index]].work;
    TakeAppended(lanes_, clock_, batch->carried[lease.index].append.key, lease, batch->generation);
    hand_over_.OnCarried(*batch->leases, lease.index, lease, SpansOf(work));
  }
  hand_over_.EndCarried(batch->leases);
}

// Nothing of the batch is stored.
void PushQueue::EndLeases(const Batch& batch) {
  if (!batch.carried.empty()) hand_over_.EndCarried(batch.leases);
}

void PushQueue::DoubtLeases(Batch& batch) {
  if (!batch.carried.empty()) batch.doubtful = hand_over_.DoubtCarried(batch.leases);
}

// The batch was stored, or nobody asks any more whether it was.
void PushQueue::GiveBackDoubtful(Batch& batch) {
  for (const DoubtfulLease& lease : std::exchange(batch.doubtful, {})) hand_over_.GiveBack(lease);
}

}  // namespace queen::sidecar
