// How a ready ring stays true without looking at every partition. A ring is complete once a whole
// round of pop_sm_resolve has ended in the present generation of the tail; from then on every
// partition that has something for the group is ready, later, held or hinted in it, or being
// leased. What could make that false, and how this broker hears of it:
//
//   pushed here, freed here         told by the sidecars of this process, at once
//   pushed elsewhere (another broker, a transaction, SQL, a replayed buffer)
//                                   a batch in the ledger, read by the tail
//   a lease ended elsewhere (ack, transaction, given back), a seek
//                                   the same: announce.sql, append_lanes.sql
//   a group deleted or its subscription changed, options changed, a queue deleted
//                                   the same, for the whole queue: its rings begin anew
//   a lease taken elsewhere that expires, a delay, a window or a retryDelay that runs out
//                                   no row, but its time is known: every hint is asked about
//                                   (has_pending_messages) or tried, and the answer says when to
//                                   try again. A lease that was renewed meanwhile says the next
//                                   time. None of them can begin without a push or one of the above
//                                   first.
//   rows changed by hand            only the slow background resolve, a page every few seconds
//
// Other brokers that are known and alive tell at once what this one should try (src/cluster), and
// nothing when a consumer of their own takes it. So what the tail says of a partition is then asked
// about a moment later, when most of it is over; whoever tried it at once would find it leased.
//
// A partition leaves the ring when a lease has found it empty, and without that look when a lease
// had all there was, all of it is settled, and nothing was heard of the partition in between.
//
// A wildcard pop that finds its ring empty waits for a tail read that began after it came, and for
// the answer about the hints of its group; then empty means empty, but for what is being leased.
// With a long enough `wait` it is parked meanwhile, and one read serves all who came within a few
// milliseconds. The same read is the check of wildcard waiters, and the same question that of
// waiters for one partition.
#include <algorithm>

#include "base/log.h"
#include "base/planted.h"
#include "sidecar/pop_state_machine.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr size_t kChecksMax = 1'000;    // partitions asked about in one call
constexpr int64_t kInUseMs = 60'000;    // after its last pop nobody keeps a ring checked
constexpr int64_t kIdleReadBeats = 10;  // the tail of rings nobody uses is read so seldom
constexpr int64_t kReconcileBeats = 5;
constexpr int64_t kReadsApartMs = 10;
constexpr int64_t kReadsApartToldMs = 100;  // while other brokers tell what they did
constexpr int64_t kPostponeMs = 100;        // then so late is asked about what the tail tells

}  // namespace

struct PopStateMachine::CheckAsk {
  PopGroup* group;
  PartitionId partition;
  int64_t forgotten;  // of the group when this was sent: the ids may mean others since
};

// One call of has_pending_messages: row i is about asks[i].
struct PopStateMachine::CheckCall {
  std::vector<CheckAsk> asks;
  std::vector<PopGroup*> groups;  // of the asks, each once
  int64_t sent_ms = 0;
};

bool PopStateMachine::IsComplete(const PopGroup& group) const {
  return group.named() && tail_.known() && group.complete_generation == tail_.generation();
}

bool PopStateMachine::InUse(const PopGroup& group) const {
  return group.open_pops > 0 || loop_.NowMillis() - group.used_ms < kInUseMs;
}

// ---- rounds

void PopStateMachine::StartRound(PopGroup& group) {
  if (group.round_queued) return;
  group.round_queued = true;
  Pin(group);
  if (tail_.known()) {
    BeginRound(group);
    return;
  }
  // First the snapshot: what is committed behind it is read by the tail, before it by the round.
  group.round_waiting = true;
  AwaitTail(group);
}

void PopStateMachine::BeginRound(PopGroup& group) {
  ++group.rounds_begun;
  group.round_after = 0;
  group.round_generation = tail_.generation();
  group.round_forgotten = group.forgotten;
  resolve_.push_back(&group);
  scheduler_.Wake();
}

// ---- the tail

void PopStateMachine::AskTail(const PopPtr& pop) {
  pop->tail_read = tail_.Ask();
  pop->group->asking.push_back(pop);
  AwaitTail(*pop->group);
}

void PopStateMachine::AwaitTail(PopGroup& group) {
  tail_.Ask();
  if (tail_waiters_.insert(&group).second) Pin(group);
  scheduler_.Wake();
}

int64_t PopStateMachine::AskNews() {
  scheduler_.Wake();
  return tail_.Ask();
}

// For those who wait: not for each of them anew.
void PopStateMachine::ReadTailSoon() {
  const int64_t due_ms = tail_.begun_ms() + (Told() ? kReadsApartToldMs : kReadsApartMs);
  if (due_ms <= loop_.NowMillis()) {
    AskNews();
  } else if (tail_due_ms_ == 0) {
    tail_due_ms_ = due_ms;
    SetTimer(due_ms);
  }
}

void PopStateMachine::SendTail() {
  scheduler_.Execute(*this, 1, pg::Batch(storage::kTail, tail_.Begin(loop_.NowMillis())),
                     [this](const pg::BatchResult& result) { OnTail(result); });
}

void PopStateMachine::OnTail(const pg::BatchResult& result) {
  const int64_t generation = tail_.generation();
  Result<std::vector<QueueNews>> news = tail_.End(result);
  if (tail_.generation() != generation && !QUEEN_PLANTED(kGenerationsKept)) {
    lanes_.Clear();  // not all was told
  }
  const auto waiters = std::exchange(tail_waiters_, {});
  if (!news.ok()) {
    log::Debug("reading the tail of the ledger failed", {{"error", news.status().ToString()}});
    for (PopGroup* group : waiters) {
      FailPops(group->asking, news.status());
      if (group->round_waiting) FailRound(*group, news.status());
      Unpin(*group);
    }
    if (listener_) listener_({tail_.done(), std::move(news)});
    return;
  }
  for (const QueueNews& queue : *news) Tell(queue);
  for (PopGroup* group : waiters) {
    if (group->round_waiting && tail_.known()) {
      group->round_waiting = false;
      BeginRound(*group);
    }
    SettleAsking(*group);
    if (group->round_waiting || !group->asking.empty()) AwaitTail(*group);
    Unpin(*group);
  }
  if (listener_) listener_({tail_.done(), std::move(news)});
  scheduler_.Wake();
}

void PopStateMachine::Tell(const QueueNews& news) {
  for (const PartitionId partition : news.partitions) lanes_.Doubt(partition);
  const auto name = queue_names_.find(news.queue_id);
  if (name == queue_names_.end()) return;
  const auto known = by_queue_.find(name->second);
  if (known == by_queue_.end()) {
    queue_names_.erase(name);  // nobody pops it any more
    return;
  }
  const std::vector<PopGroup*> groups = known->second;
  for (PopGroup* group : groups) {
    if (group->queue_id != news.queue_id) continue;
    if (news.everything) {
      OnGroupChanged(*group);
      continue;
    }
    // Nobody has asked for any of its partitions: should somebody, all are looked at.
    if (!IsComplete(*group) && !group->round_queued && !group->awaited()) continue;
    const bool asked = !group->asking.empty();
    const bool at_once = asked || !Told();
    for (const PartitionId partition : news.partitions) {
      if (QUEEN_PLANTED(kHeldBelieved) && group->ring.IsHeld(partition)) continue;
      if (at_once) {
        group->ring.Hint(partition);
      } else {
        Postpone(*group, partition);
      }
      if (const int64_t key = KeyOf(partition, *group); leasing_.contains(key)) told_.insert(key);
    }
    // Few hints are tried instead: by pops that asked, or by those that wait.
    if (!asked && group->ring.hints() <= group->waiters.size()) TryHints(*group);
    if (!asked && InUse(*group)) QueueCheck(*group);
  }
  if (news.everything) queue_names_.erase(news.queue_id);
}

void PopStateMachine::Postpone(PopGroup& group, PartitionId partition) {
  // Our own lease may not have everything any more; its end is not to pass over that.
  if (group.ring.IsHeld(partition)) group.ring.Push(partition);
  if (!group.in_postponed.Insert(partition.value)) return;
  group.postponed.emplace_back(loop_.NowMillis() + kPostponeMs, partition);
  SetTimer(group.postponed.front().first);
}

void PopStateMachine::HintPostponed(PopGroup& group, int64_t until_ms) {
  while (!group.postponed.empty() && group.postponed.front().first <= until_ms) {
    const PartitionId partition = group.postponed.front().second;
    group.postponed.pop_front();
    group.in_postponed.Erase(partition.value);
    group.ring.Hint(partition);
  }
}

// Pops whose read has ended: their ring is as they found it, but for the hints.
void PopStateMachine::SettleAsking(PopGroup& group) {
  HintPostponed(group, INT64_MAX);
  std::vector<PopPtr> settled;
  std::erase_if(group.asking, [&](const PopPtr& pop) {
    if (pop->tail_read > tail_.done()) return false;
    settled.push_back(pop);
    return true;
  });
  if (!IsComplete(group)) {
    for (const PopPtr& pop : settled) Advance(pop);
    return;
  }
  const auto trying = std::count_if(settled.begin(), settled.end(),
                                    [](const PopPtr& pop) { return !pop->request.look; });
  if (group.ring.hints() <= static_cast<size_t>(trying) + group.waiters.size()) TryHints(group);
  for (const PopPtr& pop : settled) {
    if (group.ring.hints() == 0 && group.checks_in_flight == 0) {
      pop->confirmed = true;
      Advance(pop);
    } else {
      AwaitCheck(pop);
    }
  }
  QueueCheck(group);
}

// The lease itself asks: one round trip less where there are as many pops as hints.
void PopStateMachine::TryHints(PopGroup& group) {
  if (group.checks_in_flight > 0) return;  // those come first
  while (const auto hint = group.ring.TakeHint()) {
    ++group.hints_checked;
    group.ring.Free(*hint);
    group.ring.Add(*hint);
  }
}

// ---- hints are asked about

void PopStateMachine::AwaitCheck(const PopPtr& pop) {
  pop->state = PopState::kResolving;
  pop->hints_upto = pop->group->ring.hints_total();
  pop->group->checking.push_back(pop);
  QueueCheck(*pop->group);
}

// What the ring had for a pop may just have become doubtful to another one. Whether it waits to
// hear of that, before it is answered that there is nothing.
bool PopStateMachine::AwaitDoubted(const PopPtr& pop) {
  if (pop->request.wait_ms > 0) return false;  // parked instead
  if (QUEEN_PLANTED(kDoubtUnheard)) return false;
  if (pop->group->doubted_upto <= pop->group->hints_checked) return false;
  pop->claims_upto = 0;  // others may claim what is there
  AwaitCheck(pop);
  return true;
}

void PopStateMachine::QueueCheck(PopGroup& group) {
  if (group.check_queued || (group.ring.hints() == 0 && group.checking.empty())) return;
  group.check_queued = true;
  Pin(group);
  check_.push_back(&group);
  scheduler_.Wake();
}

void PopStateMachine::SendCheck() {
  auto call = std::make_shared<CheckCall>();
  const std::deque<PopGroup*> groups = std::move(check_);
  check_.clear();
  const size_t share = std::max<size_t>(1, kChecksMax / groups.size());
  for (PopGroup* group : groups) {
    group->check_queued = false;
    const size_t before = call->asks.size();
    while (group->named() && call->asks.size() < std::min(before + share, kChecksMax)) {
      const auto hint = group->ring.TakeHint();
      if (!hint) break;
      call->asks.push_back({group, *hint, group->forgotten});
    }
    if (call->asks.size() > before) {
      ++group->checks_in_flight;
      call->groups.push_back(group);
      Pin(*group);
    }
    if (group->named() && group->ring.hints() > 0) {
      QueueCheck(*group);
    } else if (group->checks_in_flight == 0) {
      ReleaseChecked(*group);
    }
    Unpin(*group);
  }
  if (call->asks.empty()) return;
  const size_t count = call->asks.size();
  pg::Int4Array partitions(count, 4);
  pg::Int4Array group_ids(count, 4);
  for (const CheckAsk& ask : call->asks) {
    partitions.Add(ask.partition.value);
    group_ids.Add(ask.group->group_id);
  }
  pg::Params params(2);
  params.Add(std::move(partitions)).Add(std::move(group_ids));
  check_in_flight_ = true;
  call->sent_ms = loop_.NowMillis();
  scheduler_.Execute(*this, static_cast<int64_t>(count),
                     pg::Batch(storage::kHasPending, std::move(params)),
                     [this, call](const pg::BatchResult& result) { OnChecked(*call, result); });
}

void PopStateMachine::OnChecked(const CheckCall& call, const pg::BatchResult& result) {
  check_in_flight_ = false;
  for (PopGroup* group : call.groups) --group->checks_in_flight;
  if (!result.ok()) {
    for (const CheckAsk& ask : call.asks) {
      if (ask.forgotten != ask.group->forgotten) continue;
      ++ask.group->hints_checked;
      ask.group->ring.Hint(ask.partition);
    }
    for (PopGroup* group : call.groups) {
      FailPops(group->checking, result.status);
      Unpin(*group);
    }
    return;
  }
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const CheckAsk& ask = call.asks[static_cast<size_t>(rows.Int4(row, 0)) - 1];
    if (ask.forgotten == ask.group->forgotten) OnCheckRow(call, ask, rows, row);
  }
  for (PopGroup* group : call.groups) ReleaseChecked(*group);
  for (PopGroup* group : call.groups) {
    if (InUse(*group)) QueueCheck(*group);
    Unpin(*group);
  }
  scheduler_.Wake();
}

// What the database says of one partition goes into the ring.
void PopStateMachine::OnCheckRow(const CheckCall& call, const CheckAsk& ask, const pg::Rows& rows,
                                 int row) {
  PopGroup& group = *ask.group;
  const PartitionId partition = ask.partition;
  ++group.hints_checked;
  ++has_pending_.checks;
  const bool pending = !rows.IsNull(row, 1) && rows.Bool(row, 1);
  ++(pending ? has_pending_.hits : has_pending_.misses);
  if (rows.IsNull(row, 1)) group.partitions.clear();  // it is gone, and may have come back
  if (!pending && !rows.IsNull(row, 2)) {
    const int64_t at =
        call.sent_ms + std::max<int64_t>(rows.Int8(row, 2) - 1, 0);  // it was rounded up
    group.ring.AddAt(partition, at);
    SetTimer(at);
    return;
  }
  // Whatever held it has ended. What was pushed during the hold may be younger than the answer.
  const bool pushed = group.ring.Free(partition);
  if (pending || pushed) group.ring.Add(partition);
}

void PopStateMachine::ReleaseChecked(PopGroup& group) {
  const std::vector<PopPtr> pops = std::move(group.checking);
  group.checking.clear();
  const bool complete = IsComplete(group);
  for (const PopPtr& pop : pops) {
    if (pop->finished()) continue;
    const bool checked = pop->hints_upto <= group.hints_checked;
    if (complete && !checked && group.ring.empty()) {
      group.checking.push_back(pop);
      continue;
    }
    // Not all that come here have asked the tail: some only doubted their ring.
    if (complete && checked) {
      pop->confirmed = pop->tail_read > 0 && pop->tail_read <= tail_.done();
    }
    Advance(pop);
  }
}

void PopStateMachine::FailPops(std::vector<PopPtr>& pops, const Status& status) {
  const std::vector<PopPtr> failed = std::move(pops);
  pops.clear();
  for (const PopPtr& pop : failed) {
    if (pop->finished()) continue;
    if (pop->cancelled) {
      Finish(pop, PopState::kEmpty, PopResult{});
    } else if (pop->request.wait_ms > 0 && status.retryable()) {
      Wait(pop);
      OfferSoon(*pop->group);
    } else {
      Fail(pop, status);
    }
  }
}

// ---- in the background

void PopStateMachine::OnBackground() {
  ++beats_;
  ForgetIdle();
  if (!scheduler_.AnyUp()) return;
  bool any_named = false;
  bool any_used = false;
  PopGroup* next = nullptr;  // to look at: the first behind the last one, by number
  PopGroup* first = nullptr;
  for (auto& [key, group] : groups_) {
    if (!group->named()) continue;
    any_named = true;
    if (!InUse(*group)) continue;
    any_used = true;
    if (!IsComplete(*group) || group->reconciling) continue;
    if (first == nullptr || group->number < first->number) first = group.get();
    if (group->number > reconciled_number_ && (next == nullptr || group->number < next->number)) {
      next = group.get();
    }
  }
  if (any_used || (any_named && beats_ % kIdleReadBeats == 0)) tail_.Ask();
  if (next == nullptr) next = first;
  if (next != nullptr && beats_ % kReconcileBeats == 0) {
    reconciled_number_ = next->number;
    next->reconciling = true;
    Pin(*next);
    reconcile_.push_back(next);
  }
  scheduler_.Wake();
}

void PopStateMachine::SendReconcile() {
  PopGroup& group = *reconcile_.front();
  reconcile_.pop_front();
  pg::Params params(4);
  params.Int4(group.queue_id).Int4(group.group_id).Int4(group.reconcile_after);
  params.Int4(limits_.resolve_page);
  scheduler_.Execute(
      *this, 1, pg::Batch(storage::kResolve, std::move(params)),
      [this, &group, forgotten = group.forgotten, sent_ms = loop_.NowMillis()](
          const pg::BatchResult& result) { OnReconciled(group, forgotten, sent_ms, result); });
}

void PopStateMachine::OnReconciled(PopGroup& group, int64_t forgotten, int64_t sent_ms,
                                   const pg::BatchResult& result) {
  group.reconciling = false;
  if (result.ok() && forgotten == group.forgotten) {
    const ResolvedPage page = TakePage(group, result.rows[0], sent_ms);
    group.reconcile_after = page.next_after.value_or(0);
    if (!page.live) OnGroupChanged(group);
  }
  Unpin(group);
}

}  // namespace queen::sidecar
