// The first round trips of a pop: names to ids, and which partitions of a (queue, group) are ready.
#include <algorithm>
#include <utility>

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

// ---- names

// Looks up what the next pops name. Waits for nobody: what is not there is made by MakeGroups.
void PopStateMachine::SendNaming() {
  std::vector<PopPtr> pops = TakeChunk(naming_, scheduler_.FreeSlots());
  pg::TextArray queues(pops.size());
  pg::TextArray groups(pops.size());
  pg::TextArray partitions(pops.size());
  for (const PopPtr& pop : pops) {
    queues.Add(pop->request.queue);
    groups.Add(pop->request.group);
    if (pop->wildcard()) {
      partitions.AddNull();
    } else {
      partitions.Add(*pop->request.partition);
    }
  }
  pg::Params params(3);
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(partitions));
  const auto count = static_cast<int64_t>(pops.size());
  scheduler_.Execute(
      *this, count, pg::Batch(storage::kFindPopNames, std::move(params)),
      [this, pops = std::move(pops)](const pg::BatchResult& result) { OnNamed(pops, result); });
}

void PopStateMachine::OnNamed(const std::vector<PopPtr>& pops, const pg::BatchResult& result) {
  if (!result.ok()) {
    OnBatchFailed(pops, naming_, result);
    return;
  }
  for (const PopPtr& pop : pops) {
    std::unordered_map<std::string, PartitionId>& names = pop->group->partitions;
    if (names.size() >= limits_.partition_names_max) names.clear();
  }
  const pg::Rows& rows = result.rows[0];
  std::vector<bool> there(pops.size(), false);  // the group, or the record of its start
  for (int row = 0; row < rows.rows(); ++row) {
    const auto index = static_cast<size_t>(rows.Int4(row, 0)) - 1;
    const Pop& pop = *pops[index];
    there[index] = rows.Bool(row, 4) || !rows.IsNull(row, 2);
    if (!rows.IsNull(row, 2)) TakeNames(*pop.group, rows.Int4(row, 1), rows.Int4(row, 2));
    if (!pop.wildcard() && !rows.IsNull(row, 3)) {
      pop.group->partitions[*pop.request.partition] = PartitionId{rows.Int4(row, 3)};
    }
  }
  std::vector<PopPtr> nameless;
  for (size_t i = 0; i < pops.size(); ++i) {
    const PopPtr& pop = pops[i];
    if (pop->finished()) continue;
    if (IsNamed(*pop)) {
      Advance(pop);
    } else if (pop->request.member) {
      PopResult gone;
      gone.gone = true;
      Finish(pop, PopState::kEmpty, std::move(gone));
    } else if (there[i]) {
      nameless.push_back(pop);
    } else {
      AwaitGroup(pop);
    }
  }
  AwaitNames(nameless);
  MakeGroups();
}

// No such queue or partition yet. What was pushed there since the names were looked for is a reason
// to ask once more, but only once.
void PopStateMachine::AwaitNames(const std::vector<PopPtr>& pops) {
  std::unordered_set<PopGroup*> asked_again;
  for (const PopPtr& pop : pops) {
    if (WasHeardOf(*pop)) {
      asked_again.insert(pop->group);
      Advance(pop);
    } else {
      Wait(pop);
    }
  }
  for (PopGroup* group : asked_again) {
    if (!group->named()) ForgetNames(*group);
  }
}

bool PopStateMachine::IsNamed(const Pop& pop) {
  return pop.group->named() &&
         (pop.wildcard() || pop.group->partitions.contains(*pop.request.partition));
}

void PopStateMachine::TakeNames(PopGroup& group, int32_t queue_id, int32_t group_id) {
  if (group.named() && group.group_id != group_id) ForgetNames(group);
  group.queue_id = queue_id;
  queue_names_[queue_id] = group.queue;
  group.group_id = group_id;
}

// The pop is the first of its group, or comes while that one is on its way.
void PopStateMachine::AwaitGroup(const PopPtr& pop) {
  PopGroup& group = *pop->group;
  if (group.unmade.empty()) make_.push_back(&group);
  group.unmade.push_back(pop);
}

// One call is in flight at a time, each group in it once and with all its pops: groups that are
// there never wait for new ones, and two calls never for each other.
void PopStateMachine::MakeGroups() {
  if (making_ || make_.empty()) return;
  making_ = true;
  std::vector<std::vector<PopPtr>> made;  // the pops of each group
  pg::TextArray queues(make_.size());
  pg::TextArray groups(make_.size());
  pg::TextArray modes(make_.size());
  pg::TimestampTzArray times(make_.size(), 8);
  while (!make_.empty() && made.size() < limits_.pops_per_batch) {
    made.push_back(std::exchange(make_.front()->unmade, {}));
    make_.pop_front();
    const PopRequest& first = made.back().front()->request;
    queues.Add(first.queue);
    groups.Add(first.group);
    modes.Add(ModeName(first.start_mode));
    if (first.start_mode == StartMode::kTime) {
      times.Add(first.start_micros);
    } else {
      times.AddNull();
    }
  }
  pg::Params params(4);
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(modes));
  params.Add(std::move(times));
  names_.Ask(
      storage::kEnsureGroups, std::move(params),
      [this, made = std::move(made)](const pg::BatchResult& result) { OnMade(made, result); });
}

void PopStateMachine::OnMade(const std::vector<std::vector<PopPtr>>& made,
                             const pg::BatchResult& result) {
  making_ = false;
  if (result.ok()) {
    const pg::Rows& rows = result.rows[0];
    for (int row = 0; row < rows.rows(); ++row) {
      const PopPtr& first = made[static_cast<size_t>(rows.Int4(row, 0)) - 1].front();
      if (!first->finished()) TakeNames(*first->group, rows.Int4(row, 1), rows.Int4(row, 2));
    }
  }
  std::vector<PopPtr> nameless;
  for (const std::vector<PopPtr>& pops : made) {
    if (!result.ok()) {
      OnBatchFailed(pops, naming_, result);
      continue;
    }
    for (const PopPtr& pop : pops) {
      if (pop->finished()) continue;
      if (pop->group->named()) {
        Advance(pop);
      } else {
        nameless.push_back(pop);
      }
    }
  }
  AwaitNames(nameless);
  MakeGroups();
}

// ---- which partitions are ready

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
  const ResolvedPage page =
      same ? TakePage(group, result.rows[0], group.page_sent_ms) : ResolvedPage{};
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
PopStateMachine::ResolvedPage PopStateMachine::TakePage(PopGroup& group, const pg::Rows& rows,
                                                        int64_t sent_ms) {
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
      group.ring.AddAt(partition, sent_ms + rows.Int8(row, 1) - 1);  // it was rounded up
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
