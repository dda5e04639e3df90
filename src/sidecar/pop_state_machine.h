// PopStateMachine: every pop of one worker, from request to reply (states in pop_types.h). Whatever
// a pop needs from PostgreSQL waits in the queue of its stage, and a free slot takes a chunk of one
// stage: pending / free slots, so that a pile of pops is spread over all of them.
//
//   stage    what one round trip does for its whole chunk
//   naming   ids of queue, group and partition. The record of a group that has none is made by a
//            call of its own, on top of these (MakeGroups)
//   resolve  one page of partitions of one (queue, group), into its ready ring
//   tail     what others have committed since the last read (pop_tail.cc)
//   check    whether partitions that were hinted at have something
//   lease    leases the candidates of all its pops
//   fetch    reads the segments that are not in the cache
//   return   gives leases back whose client has gone (lease_returns.h)
//
// Rules it keeps:
//   1. A (partition, group) is in at most one lease in flight; later pops for it wait for that one.
//   2. A lease is asked for again with the same id after an unknown end: it is then the same lease.
//      Where it is not asked for again it is given back. An automatic ack is not repeated; its pop
//      fails.
//   3. Waiting costs memory only. No pop stays parked beside a ring that has something for it:
//      whatever puts a partition into a ring, and whoever leaves one there, has the ring offered to
//      the waiters at the end of the turn (OfferSoon). The backoff check is the net under hints
//      that were lost.
//   4. A pop with autoAck whose lease was sent is answered by the outcome, never before it: what it
//      settles would reach nobody. The same holds while the settled messages are being read. Only a
//      client that leaves, and the end of the broker, come first.
//   5. Room for a reply is taken before its lease is asked for, and PostgreSQL gives no more than
//      fits. A segment that does not fit is named instead, and the pop asks for it again when it
//      has room for it. While it waits for that it has a place in the order of the process
//      (reply_room.h), and takes something else if its ring has it.
//   6. A pop that does not wait is not answered that there is nothing while others lease what they
//      may leave to it (AwaitClaims).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "engine/database_clock.h"
#include "engine/verbs.h"
#include "loop/timer.h"
#include "sidecar/hand_over.h"
#include "sidecar/lease_returns.h"
#include "sidecar/lookups.h"
#include "sidecar/peer_hints.h"
#include "sidecar/pop_types.h"
#include "sidecar/scheduler.h"
#include "sidecar/segment_cache.h"
#include "sidecar/tail_reader.h"

namespace queen::sidecar {

struct LeaseRow;

struct PopLimits {
  int64_t bytes_max = int64_t{32} << 20;  // of the messages in one pop, but always a segment
  size_t pops_max = 100'000;              // on their way or waiting, without looks
  size_t pops_per_batch = 500;
  // A call costs as much as a dozen of its rows: few at once make large ones.
  int leases_in_flight_max = 2;
  int64_t room_patience_ms = 1'000;   // of a pop that does not wait, for room for its reply
  int64_t claim_patience_ms = 1'000;  // of one, for what others are about to take or to leave
  // Of one lease call, all its pops together; a pop by itself has no more candidates than rows.
  size_t lease_rows_max = 2'000;
  size_t lease_messages_max = 50'000;
  size_t releases_max = 100'000;     // leases to give back; beyond it they run out by themselves
  int32_t resolve_page = 1'000;      // partitions looked at in one call
  int32_t resolve_page_small = 200;  // while nobody waits for it: then others are not to notice
  int64_t deadline_ms = 30'000;      // of a pop that does not wait
  // What is remembered of groups that nobody pops; the oldest is forgotten first.
  int64_t idle_group_ms = 60'000;
  size_t idle_groups_max = 5'000;
  size_t idle_partitions_max = 1'000'000;  // in the rings of them all
  size_t partition_names_max = 10'000;     // of one group, then they are looked up again
  state::BackoffLimits check;              // of waiters that nothing has woken
};

// How often waiting pops, or hints, had the database asked about one partition.
struct HasPendingStats {
  int64_t checks = 0;
  int64_t hits = 0;
  int64_t misses = 0;
};

// What this process believes of one partition for one group, for people. Not `known`: nobody has
// popped with this group lately.
struct LaneBelief {
  bool known = false;
  bool ready = false;            // in the ring of partitions to be leased next
  bool held = false;             // nothing is believed to be there before a known time
  bool leasing = false;          // its lease is being asked for
  int64_t ready_partitions = 0;  // of the whole queue
  int64_t waiting_pops = 0;      // of the group, parked until something is ready
  int64_t last_pop_ms_ago = 0;
  bool paused = false;  // by maintenance
};

// What a read of the tail has told. Not ok: nothing, the next one tells it.
struct TailNews {
  int64_t read = 0;  // its number
  Result<std::vector<QueueNews>> queues;
};

class PopStateMachine final : public Scheduler::Source, public HandOver {
 public:
  // New groups are made through `names`. While `replies` (may be null: without limit) is full no
  // pop is begun, and none that waits is tried. `peers` are told who waits here, and what became
  // ready with nobody here to take it; may be null.
  PopStateMachine(Loop& loop, Scheduler& scheduler, Lookups& names, SegmentCache& cache,
                  engine::LaneCache& lanes, engine::DatabaseClock& clock, const PopLimits& limits,
                  int64_t broker, OwnBrokers own, ReplyRoom* replies, PeerHints* peers);
  ~PopStateMachine();

  // `done` may run inside this call when the pop is refused.
  void Submit(uint64_t ticket, PopRequest request, PopDone done);
  // The client has gone: no lease is taken, and one that was is given back. What an automatic ack
  // has settled by then is not.
  void Cancel(uint64_t ticket);
  // Nobody has taken these deliveries to `group`: their leases are given back.
  void GiveBack(const std::string& group, const Uuid& lease_id,
                const std::vector<Delivery>& deliveries);

  // pop_hand_over.cc
  Leases BeginCarried() override;
  bool CarryWithAck(LeaseChunk& leases, std::string_view queue, std::string_view group,
                    engine::LaneAppend& append) override;
  std::vector<engine::LaneAppend> CarryWithPush(
      LeaseChunk& leases, std::string_view queue, PartitionId partition,
      const std::vector<engine::SegmentSpan>& segments) override;
  void OnCarried(LeaseChunk& leases, size_t place,
                 const storage::append_lanes::Row& answer) override;
  void OnCarried(LeaseChunk& leases, size_t place, const storage::append_lanes::Row& answer,
                 const std::vector<engine::SegmentSpan>& stored) override;
  void EndCarried(const Leases& leases) override;
  std::vector<DoubtfulLease> DoubtCarried(const Leases& leases) override;
  void GiveBack(const DoubtfulLease& lease) override;
  // Leases that were carried by an ack or a push, and won.
  int64_t handed_over() const { return handed_over_; }

  // A partition has new messages: `segments`, or it is not known which. The peers are told unless
  // they know it
  // (`from_peer`).
  void OnPushed(std::string_view queue, std::string_view partition, PartitionId id,
                const std::vector<engine::SegmentSpan>& segments, bool from_peer = false);
  // A lease has ended; there may be something for the next consumer.
  void OnFreed(std::string_view queue, std::string_view partition, PartitionId id,
               std::string_view group, const LeaseEnd& end, bool from_peer = false);
  // Administration changed the queue's options, moved or deleted one of its groups, or deleted it:
  // what is believed of it is forgotten, and its waiters ask the database again.
  void OnQueueChanged(const std::string& queue);
  // As OnQueueChanged, of every queue.
  void OnQueuesChanged();
  // Maintenance. While paused a pop is answered that there is nothing, with `wait` at its deadline;
  // what is on its way to or from PostgreSQL arrives. At the end whoever waits tries again.
  void SetPaused(bool paused);
  // Has the tail read; the number of the first read that begins after this call.
  int64_t AskNews();
  // Told of every read that has ended. Once.
  void OnNews(std::function<void(TailNews)> listener) { listener_ = std::move(listener); }
  // In what generation of the tail we are, 0: its first read has not ended (tail_reader.h).
  int64_t generation() const { return tail_.known() ? tail_.generation() : 0; }
  // Whether a read has begun less than `ms` ago: one more would tell little.
  bool WasReadWithin(int64_t ms) const { return loop_.NowMillis() - tail_.begun_ms() < ms; }
  bool AnyUp() const { return scheduler_.AnyUp(); }
  bool paused() const { return paused_; }
  const PopLimits& limits() const { return limits_; }

  // Hints and ids may be wrong: a connection was lost.
  void Forget();
  // A connection is up again: what was forgotten is found out for those who wait, also where no
  // connection was left to ask when it was forgotten.
  void OnUp();
  // The broker is going to stop: whoever waits is answered now, and nobody waits any more.
  void StopWaiting();
  // The slots are closed: answers whatever is still on its way.
  void Shutdown();

  LaneBelief BeliefOf(const std::string& queue, const std::string& group,
                      std::optional<PartitionId> partition) const;
  bool may_wait() const { return may_wait_; }
  size_t waiting() const { return waiting_; }
  size_t open() const { return pops_.size(); }
  const HasPendingStats& has_pending() const { return has_pending_; }
  state::BackoffStats backoff() const;
  // Calls `visit(queue, group, waiting)` for each (queue, group) that somebody waits for.
  template <typename Visit>
  void ForEachAwaited(Visit visit) const {
    for (const auto& [key, group] : groups_) {
      if (group->awaited()) visit(group->queue, group->name, group->awaiting());
    }
  }

  void OnEndOfTurn() override;
  bool HasWork() const override;
  void SendOne() override;

 private:
  struct CheckAsk;
  struct CheckCall;
  struct ResolvedPage {
    bool live = false;  // the queue and the group are there
    std::optional<int32_t> next_after;
  };

  static void ForgetNames(PopGroup& group);
  // A pinned group is referred to by something in a queue or in flight.
  static void Pin(PopGroup& group) { ++group.pins; }
  void Unpin(PopGroup& group);
  void DropUse(PopGroup& group);
  void ForgetUnused();
  void ForgetIdle();
  void ForgetGroup(PopGroup& group);
  void OnGroupChanged(PopGroup& group);
  static void Unconfirm(Pop& pop);
  PopGroup& GroupOf(const std::string& queue, const std::string& name);
  // Decides what `pop` needs next and puts it there.
  void Advance(const PopPtr& pop);
  void AdvanceWildcard(const PopPtr& pop);
  bool TakeCandidates(const PopPtr& pop);
  bool Claim(PopGroup& group, PartitionId partition);
  bool AwaitDoubted(const PopPtr& pop);
  bool AwaitClaims(const PopPtr& pop);
  void TryBehindClaims(PopGroup& group);
  void Wait(const PopPtr& pop);
  bool MustWait(const Pop& pop);
  bool IsCrowded(const Pop& pop) const;
  bool RepliesFull() const { return replies_ != nullptr && replies_->full(); }
  void Unpark(const PopPtr& pop);
  static void Learn(PopGroup& group, std::string_view partition, PartitionId id);
  void DoubtLease(const PopGroup& group, PartitionId id);
  // Whether a consumer of this process has the partition, or is about to take it.
  bool IsServedHere(const PopGroup& group, PartitionId id) const;
  void OnReady(PopGroup& group, PartitionId id);
  void OfferSoon(PopGroup& group);
  void Offer(PopGroup& group);
  static bool MayTake(const Pop& pop);
  void WakeAll(PopGroup& group);
  void WakeEverybody();
  void WakeLookers(PopGroup& group);
  void Finish(const PopPtr& pop, PopState state, Result<PopResult> result);
  void Fail(const PopPtr& pop, const Status& status);
  void Abandon(const PopPtr& pop, Result<PopResult> result);
  void OnOverdue(const PopPtr& pop);
  Result<PopResult> OverdueAnswer(const Pop& pop) const;
  void FinishOverdue(const PopPtr& pop);
  void OnBatchFailed(const std::vector<PopPtr>& pops, std::deque<PopPtr>& stage,
                     const pg::BatchResult& result);
  void Pause(const PopPtr& pop, std::deque<PopPtr>& stage);
  // As Pause, and then it goes on from the beginning.
  void PauseWhole(const PopPtr& pop);

  // Of `stage` what one of `parts` calls should take.
  std::vector<PopPtr> TakeChunk(std::deque<PopPtr>& stage, int parts) const;
  bool MayLease() const {
    return !lease_.empty() && leases_in_flight_ < limits_.leases_in_flight_max;
  }
  void SendNaming();
  void OnNamed(const std::vector<PopPtr>& pops, const pg::BatchResult& result);
  void AwaitNames(const std::vector<PopPtr>& pops);
  static bool IsNamed(const Pop& pop);
  void TakeNames(PopGroup& group, int32_t queue_id, int32_t group_id);
  void AwaitGroup(const PopPtr& pop);
  void MakeGroups();
  void OnMade(const std::vector<std::vector<PopPtr>>& made, const pg::BatchResult& result);
  void SendResolve();
  void OnResolved(PopGroup& group, const pg::BatchResult& result);
  ResolvedPage TakePage(PopGroup& group, const pg::Rows& rows, int64_t sent_ms);
  void QueuePage(PopGroup& group);
  void EndRest(PopGroup& group);
  void FailRound(PopGroup& group, const Status& status);
  void EndRound(PopGroup& group);

  bool IsComplete(const PopGroup& group) const;
  bool InUse(const PopGroup& group) const;
  void StartRound(PopGroup& group);
  void BeginRound(PopGroup& group);
  void AskTail(const PopPtr& pop);
  void AwaitTail(PopGroup& group);
  void ReadTailSoon();
  void SendTail();
  void OnTail(const pg::BatchResult& result);
  void Tell(const QueueNews& news);
  // Whether other brokers tell at once what they did (peer_hints.h).
  bool Told() const { return peers_ != nullptr && peers_->AnyoneThere(); }
  void Postpone(PopGroup& group, PartitionId partition);
  static void HintPostponed(PopGroup& group, int64_t until_ms);
  void SettleAsking(PopGroup& group);
  void TryHints(PopGroup& group);
  void AwaitCheck(const PopPtr& pop);
  void QueueCheck(PopGroup& group);
  bool MayCheck() const { return !check_.empty() && !check_in_flight_; }
  void SendCheck();
  void OnChecked(const CheckCall& call, const pg::BatchResult& result);
  void OnCheckRow(const CheckCall& call, const CheckAsk& ask, const pg::Rows& rows, int row);
  void ReleaseChecked(PopGroup& group);
  void FailPops(std::vector<PopPtr>& pops, const Status& status);
  void OnBackground();
  void SendReconcile();
  void OnReconciled(PopGroup& group, int64_t forgotten, int64_t sent_ms,
                    const pg::BatchResult& result);
  void SendLease();
  bool MayAsk(const Pop& pop) const;
  void StartOver(const PopPtr& pop);
  std::shared_ptr<LeaseChunk> TakeLeaseChunk();
  ReplyShare ShareOf(const Pop& pop, size_t pops, size_t free) const;
  bool TakeRoom(Pop& pop, const ReplyShare& share) const;
  void AwaitRoom(const PopPtr& pop);
  void TakePlace(Pop& pop) const;
  bool HasOther(const Pop& pop) const;
  bool AskForLarge(const LeaseChunk& chunk, const PopPtr& pop);
  void DecideLeases(LeaseChunk& chunk, bool loaded);
  void SendLeaseLoad(const std::shared_ptr<LeaseChunk>& chunk);
  void OnLeaseLoaded(const std::shared_ptr<LeaseChunk>& chunk,
                     const std::vector<engine::LaneAsk>& asks, int64_t load, int64_t generation,
                     const pg::BatchResult& result);
  void SendLeaseAppend(const std::shared_ptr<LeaseChunk>& chunk);
  void OnLeased(const std::shared_ptr<LeaseChunk>& chunk, const pg::BatchResult& result);
  void FailLeases(LeaseChunk& chunk, const pg::BatchResult& result);
  void FinishLeases(const std::shared_ptr<LeaseChunk>& chunk);
  void OnLeaseAnswer(const LeaseChunk& chunk, const PopPtr& pop, bool doubtful);
  static void DoubtLeases(const LeaseChunk& chunk);
  void OnLeaseRow(LeaseChunk& chunk, const LeaseRow& row);
  // Drops a claim; whether the partition was announced while its lease was in flight.
  bool EndLeasing(PopGroup& group, PartitionId partition);
  void DropClaim(const Pop& pop, PartitionId partition);
  void DropClaims(const Pop& pop);
  PopPtr NextFor(const PopGroup& group, PartitionId partition) const;
  bool DecideCarried(Pop& pop, const engine::Progress& progress, const engine::QueueRules& rules,
                     const engine::LogView& log, engine::LeaseOutcome& outcome) const;
  void TakeWaiter(LeaseChunk& leases, const PopPtr& pop, const engine::LaneKey& lane,
                  engine::LeaseOutcome outcome, const std::string& partition_name);
  void Unblock(int64_t key);
  void BeginFetch(const PopPtr& pop);
  void SendFetch();
  void OnFetched(const std::vector<PopPtr>& pops, const std::vector<SegmentKey>& keys,
                 const pg::BatchResult& result);
  void Deliver(const PopPtr& pop, bool fresh);
  void DropGone(Pop& pop, bool fresh);
  void GoOnWithout(const PopPtr& pop);
  void Complete(const PopPtr& pop);
  void GiveBackDeliveries(const Pop& pop);
  void GiveBackDoubtful(Pop& pop);
  bool Release(PopGroup& group, PartitionId partition, int32_t group_id, const Uuid& lease_id);
  void OnReturned(PopGroup& group, PartitionId partition, bool over);

  void SetDeadline(const PopPtr& pop, int64_t at_ms);
  void SetTimer(int64_t at_ms);
  void OnTimer();
  void CheckGroup(PopGroup& group, int64_t now);

  Loop& loop_;
  Scheduler& scheduler_;
  Lookups& names_;
  SegmentCache& cache_;
  engine::LaneCache& lanes_;
  engine::DatabaseClock& clock_;
  const int64_t broker_;
  const PopLimits limits_;
  ReplyRoom* const replies_;
  PeerHints* const peers_;

  std::unordered_map<std::string, std::unique_ptr<PopGroup>> groups_;  // by queue NUL group
  std::unordered_map<std::string, std::vector<PopGroup*>> by_queue_;
  std::unordered_map<int32_t, std::string> queue_names_;  // by the ids that groups were named with
  std::vector<PopGroup*> unused_;                         // perhaps: see ForgetUnused
  std::unordered_map<uint64_t, PopPtr> pops_;             // not finished
  size_t looks_ = 0;                                      // of these
  std::vector<PopGroup*> offers_;                         // see OfferSoon
  size_t waiting_ = 0;
  bool may_wait_ = true;
  bool paused_ = false;
  bool held_back_ = false;  // somebody waits for replies to leave

  std::deque<PopPtr> naming_;
  std::deque<PopGroup*> make_;  // those with unmade pops
  bool making_ = false;
  std::deque<PopGroup*> resolve_;
  std::vector<PopGroup*> resting_;  // in the middle of a round that nobody waits for
  TailReader tail_;
  std::function<void(TailNews)> listener_;
  std::set<PopGroup*, OlderGroup> tail_waiters_;  // with pops or a round behind a read
  std::deque<PopGroup*> check_;                   // with hints to ask about
  bool check_in_flight_ = false;
  HasPendingStats has_pending_;
  std::deque<PopGroup*> reconcile_;
  uint32_t reconciled_number_ = 0;  // of the group that was looked at last
  int64_t beats_ = 0;
  std::deque<PopPtr> lease_;
  std::deque<std::shared_ptr<LeaseChunk>> decided_;  // loaded, to be appended
  int leases_in_flight_ = 0;
  std::deque<PopPtr> fetch_;
  LeaseReturns returns_;
  size_t next_stage_ = 0;

  // Claimed: the (partition, group)s of all pops in lease_ or in a lease in flight (see KeyOf).
  std::unordered_set<int64_t> leasing_;
  std::unordered_set<int64_t> announced_;  // of those, made ready since: the answer may be too old
  std::unordered_set<int64_t> told_;       // of those, changed elsewhere since: as well
  std::unordered_set<int64_t> with_push_;  // of those, with a push that they are to be given
  int64_t handed_over_ = 0;
  uint32_t groups_made_ = 0;
  std::unordered_map<int64_t, std::deque<PopPtr>> blocked_;  // behind one of them, or a release
  PopDeadlines deadlines_;
  // By the time at which they go on, and with which stage; nullptr: from the beginning.
  std::multimap<int64_t, std::pair<PopPtr, std::deque<PopPtr>*>> retries_;
  Timer timer_;
  int64_t timer_at_ms_ = 0;  // 0: not running
  int64_t tail_due_ms_ = 0;  // 0: nobody waits for a read that is not asked for yet
  Timer background_;
};

}  // namespace queen::sidecar
