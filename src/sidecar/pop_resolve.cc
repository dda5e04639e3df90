// The first round trips of a pop: names to ids, and which partitions of a (queue, group) are ready.
#include "base/log.h"
#include "sidecar/pop_state_machine.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

std::string_view ModeName(StartMode mode) {
  switch (mode) {
    case StartMode::kAll:
      return "all";
    case StartMode::kNew:
      return "new";
    case StartMode::kTime:
      return "time";
  }
  return "all";
}

}  // namespace

void PopStateMachine::SendNaming() {
  std::vector<PopPtr> pops = TakeChunk(naming_);
  pg::TextArray queues(pops.size());
  pg::TextArray groups(pops.size());
  pg::TextArray modes(pops.size());
  pg::TimestampTzArray times(pops.size(), 8);
  pg::TextArray partitions(pops.size());
  for (const PopPtr& pop : pops) {
    queues.Add(pop->request.queue);
    groups.Add(pop->request.group);
    modes.Add(ModeName(pop->request.start_mode));
    if (pop->request.start_mode == StartMode::kTime) {
      times.Add(pop->request.start_micros);
    } else {
      times.AddNull();
    }
    if (pop->wildcard()) {
      partitions.AddNull();
    } else {
      partitions.Add(*pop->request.partition);
    }
  }
  pg::Params params(5);
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(modes));
  params.Add(std::move(times)).Add(std::move(partitions));
  const auto count = static_cast<int64_t>(pops.size());
  scheduler_.Execute(
      *this, count, pg::Batch(storage::kNamePops, std::move(params)),
      [this, pops = std::move(pops)](const pg::BatchResult& result) { OnNamed(pops, result); });
}

void PopStateMachine::OnNamed(const std::vector<PopPtr>& pops, const pg::BatchResult& result) {
  if (!result.ok()) {
    OnBatchFailed(pops, naming_, result);
    return;
  }
  std::vector<bool> found(pops.size(), false);
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const auto index = static_cast<size_t>(rows.Int4(row, 0)) - 1;
    Pop& pop = *pops[index];
    pop.group->queue_id = rows.Int4(row, 1);
    pop.group->group_id = rows.Int4(row, 2);
    if (pop.wildcard()) {
      found[index] = true;
    } else if (!rows.IsNull(row, 3)) {
      const PartitionId id{rows.Int4(row, 3)};
      pop.group->partitions[*pop.request.partition] = id;
      found[index] = true;
    }
  }
  for (size_t i = 0; i < pops.size(); ++i) {
    if (pops[i]->finished()) continue;
    if (found[i]) {
      Advance(pops[i]);
    } else {
      Wait(pops[i]);  // no such queue or partition yet
    }
  }
}

void PopStateMachine::SendResolve() {
  PopGroup& group = *resolve_.front();
  resolve_.pop_front();
  pg::Params params(4);
  params.Int4(group.queue_id).Int4(group.group_id).Int4(group.round_after);
  params.Int4(limits_.resolve_page);
  scheduler_.Execute(*this, 1, pg::Batch(storage::kResolve, std::move(params)),
                     [this, &group](const pg::BatchResult& result) { OnResolved(group, result); });
}

void PopStateMachine::OnResolved(PopGroup& group, const pg::BatchResult& result) {
  if (!result.ok()) {
    log::Debug(
        "resolving a queue failed",
        {{"queue", group.queue}, {"group", group.name}, {"error", result.status.ToString()}});
    group.round_queued = false;
    std::vector<PopPtr> pops = std::move(group.resolving);
    group.resolving.clear();
    for (const PopPtr& pop : pops) {
      if (pop->request.wait_ms > 0 && result.status.retryable()) {
        Wait(pop);
      } else {
        Fail(pop, result.status);
      }
    }
    return;
  }
  const int64_t now = loop_.NowMillis();
  const pg::Rows& rows = result.rows[0];
  bool live = false;
  bool more = false;
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(row, 0)) {
      live = true;
      more = !rows.IsNull(row, 2);
      if (more) group.round_after = rows.Int4(row, 2);
      continue;
    }
    const PartitionId partition{rows.Int4(row, 0)};
    if (rows.Int8(row, 1) == 0) {
      group.ring.Free(partition);  // another broker may have ended the lease that holds it
      group.ring.Add(partition);
    } else {
      group.ring.AddAt(partition, now + rows.Int8(row, 1));
    }
  }
  if (!live) {  // the queue was deleted, or its ids forgotten: the next ones may be others
    ForgetNames(group);
    for (const PopPtr& pop : group.resolving) pop->resolve_round = group.rounds_begun + 1;
    EndRound(group);
    return;
  }
  if (const auto due = group.ring.next_due_ms()) SetTimer(*due);
  if (more) {
    resolve_.push_back(&group);
    // Whoever can be served by this page need not wait for the last one.
    std::vector<PopPtr> pops = std::move(group.resolving);
    group.resolving.clear();
    for (const PopPtr& pop : pops) {
      if (group.ring.empty()) {
        group.resolving.push_back(pop);
      } else {
        Advance(pop);
      }
    }
  } else {
    EndRound(group);
  }
  WakeForRing(group);
  scheduler_.Wake();
}

void PopStateMachine::EndRound(PopGroup& group) {
  group.rounds_done = group.rounds_begun;
  group.round_queued = false;
  std::vector<PopPtr> pops = std::move(group.resolving);
  group.resolving.clear();
  for (const PopPtr& pop : pops) {
    pop->confirmed = pop->resolve_round <= group.rounds_done;
    Advance(pop);
  }
}

}  // namespace queen::sidecar
