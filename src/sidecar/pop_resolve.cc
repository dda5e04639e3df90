// The first round trips of a pop: names to ids, and which partitions of a (queue, group) are ready.
#include <algorithm>

#include "base/log.h"
#include "sidecar/pop_state_machine.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

bool AnyoneWaits(const PopGroup& group) { return !group.resolving.empty() || group.awaited(); }

// Whether something was pushed to where the pop pops, although its names were not found: that was
// behind the look.
bool WasHeardOf(const Pop& pop) {
  const PopGroup& group = *pop.group;
  if (!group.named()) return !group.ring.empty();
  return !pop.wildcard() && group.partitions.contains(*pop.request.partition);
}

// A round that nobody waits for takes a tenth of one connection's time.
constexpr int64_t kRestsPerPage = 9;

}  // namespace

void PopStateMachine::SendNaming() {
  std::vector<PopPtr> pops = TakeChunk(naming_, scheduler_.FreeSlots());
  pg::TextArray queues(pops.size());
  pg::TextArray groups(pops.size());
  pg::TextArray modes(pops.size());
  pg::TimestampTzArray times(pops.size(), 8);
  pg::TextArray partitions(pops.size());
  for (const PopPtr& pop : pops) {
    queues.Add(pop->request.queue);
    groups.Add(pop->request.group);
    if (pop->request.member) {
      modes.AddNull();
    } else {
      modes.Add(ModeName(pop->request.start_mode));
    }
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
    const bool others = pop.group->group_id != rows.Int4(row, 2);
    if (others && pop.group->named()) ForgetNames(*pop.group);
    pop.group->queue_id = rows.Int4(row, 1);
    queue_names_[pop.group->queue_id] = pop.group->queue;
    pop.group->group_id = rows.Int4(row, 2);
    if (pop.wildcard()) {
      found[index] = true;
    } else if (!rows.IsNull(row, 3)) {
      const PartitionId id{rows.Int4(row, 3)};
      pop.group->partitions[*pop.request.partition] = id;
      found[index] = true;
    }
  }
  std::unordered_set<PopGroup*> unknown;
  for (size_t i = 0; i < pops.size(); ++i) {
    if (pops[i]->finished()) continue;
    if (found[i]) {
      Advance(pops[i]);
    } else if (pops[i]->request.member) {
      PopResult gone;
      gone.gone = true;
      Finish(pops[i], PopState::kEmpty, std::move(gone));
    } else if (WasHeardOf(*pops[i])) {
      Advance(pops[i]);
      unknown.insert(pops[i]->group);
    } else {
      Wait(pops[i]);  // no such queue or partition yet
    }
  }
  // Only what is pushed from here on is a reason to ask once more.
  for (PopGroup* group : unknown) {
    if (!group->named()) ForgetNames(*group);
  }
}

void PopStateMachine::SendResolve() {
  PopGroup& group = *resolve_.front();
  resolve_.pop_front();
  group.page_sent_ms = loop_.NowMillis();
  pg::Params params(4);
  params.Int4(group.queue_id).Int4(group.group_id).Int4(group.round_after);
  params.Int4(AnyoneWaits(group) ? limits_.resolve_page : limits_.resolve_page_small);
  scheduler_.Execute(*this, 1, pg::Batch(storage::kResolve, std::move(params)),
                     [this, &group](const pg::BatchResult& result) { OnResolved(group, result); });
}

void PopStateMachine::OnResolved(PopGroup& group, const pg::BatchResult& result) {
  if (!result.ok()) {
    log::Debug(
        "resolving a queue failed",
        {{"queue", group.queue}, {"group", group.name}, {"error", result.status.ToString()}});
    FailRound(group, result.status);
    return;
  }
  const bool same = group.round_forgotten == group.forgotten;
  const ResolvedPage page = same ? TakePage(group, result.rows[0]) : ResolvedPage{};
  if (!page.live) {  // the queue was deleted, or its ids forgotten: the next ones may be others
    if (same) ForgetNames(group);
    for (const PopPtr& pop : group.resolving) pop->resolve_round = group.rounds_begun + 1;
    EndRound(group);
    return;
  }
  if (page.next_after) {
    group.round_after = *page.next_after;
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
    QueuePage(group);
  } else {
    EndRound(group);
  }
  scheduler_.Wake();
}

// The next page of the round: at once for whoever waits, else after a rest.
void PopStateMachine::QueuePage(PopGroup& group) {
  if (AnyoneWaits(group)) {
    resolve_.push_back(&group);
    return;
  }
  const int64_t now = loop_.NowMillis();
  group.rests_until_ms = now + kRestsPerPage * std::max<int64_t>(1, now - group.page_sent_ms);
  resting_.push_back(&group);
  SetTimer(group.rests_until_ms);
}

void PopStateMachine::EndRest(PopGroup& group) {
  if (std::erase(resting_, &group) == 0) return;
  resolve_.push_back(&group);
  scheduler_.Wake();
}

// One page of partitions goes into the ring.
PopStateMachine::ResolvedPage PopStateMachine::TakePage(PopGroup& group, const pg::Rows& rows) {
  const int64_t now = loop_.NowMillis();
  ResolvedPage page;
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(row, 0)) {
      page.live = true;
      if (!rows.IsNull(row, 2)) page.next_after = rows.Int4(row, 2);
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
  if (const auto due = group.ring.next_due_ms()) SetTimer(*due);
  return page;
}

void PopStateMachine::FailRound(PopGroup& group, const Status& status) {
  group.round_queued = false;
  group.round_waiting = false;
  FailPops(group.resolving, status);
  Unpin(group);
}

void PopStateMachine::EndRound(PopGroup& group) {
  group.rounds_done = group.rounds_begun;
  group.round_queued = false;
  if (group.round_forgotten == group.forgotten) group.complete_generation = group.round_generation;
  std::vector<PopPtr> pops = std::move(group.resolving);
  group.resolving.clear();
  for (const PopPtr& pop : pops) {
    pop->confirmed = pop->resolve_round <= group.rounds_done;
    Advance(pop);
  }
  Unpin(group);
}

}  // namespace queen::sidecar
