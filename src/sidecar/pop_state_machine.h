// PopStateMachine: every pop of one worker, from request to reply (states in pop_types.h). Whatever
// a pop needs from PostgreSQL waits in the queue of its stage, and a free slot takes a chunk of one
// stage: pending / free slots, so that a pile of pops is spread over all of them.
//
//   stage    what one round trip does for its whole chunk
//   naming   ids of queue, group and partition; makes the group's record at its first pop
//   resolve  one page of partitions of one (queue, group), into its ready ring
//   lease    leases the candidates of all its pops
//   fetch    reads the segments that are not in the cache
//   release  gives leases back whose client has gone
//
// Rules it keeps:
//   1. A (partition, group) is in at most one lease in flight; later pops for it wait for that one.
//   2. A lease is asked for again with the same id after an unknown end: it is then the same lease.
//      An automatic ack is not repeated; its pop fails.
//   3. Waiting costs memory only. A push, an ack, an expiry or a delay that is over wakes as many
//      waiters as it can serve; the backoff check is the net under hints that were lost.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "loop/timer.h"
#include "sidecar/pop_types.h"
#include "sidecar/scheduler.h"
#include "sidecar/segment_cache.h"

namespace queen::sidecar {

struct PopLimits {
  int64_t bytes_max = int64_t{32} << 20;  // of one partition's messages in one pop
  size_t pops_max = 100'000;              // on their way or waiting
  size_t pops_per_batch = 500;
  int32_t resolve_page = 1'000;
  int64_t deadline_ms = 30'000;  // of a pop that does not wait
  int64_t check_base_ms = 100;
  int64_t check_max_ms = 1'000;
  int check_threshold = 3;
  double check_multiplier = 2.0;
};

class PopStateMachine final : public Scheduler::Source {
 public:
  PopStateMachine(Loop& loop, Scheduler& scheduler, SegmentCache& cache, const PopLimits& limits);
  ~PopStateMachine();

  // `done` may run inside this call when the pop is refused.
  void Submit(uint64_t ticket, PopRequest request, PopDone done);
  // The client has gone: no lease is taken, and one that was is given back.
  void Cancel(uint64_t ticket);

  // A partition has new messages.
  void OnPushed(std::string_view queue, std::string_view partition, PartitionId id);
  // A lease has ended; there may be something for the next consumer, after `ready_in_ms`.
  void OnFreed(std::string_view queue, std::string_view partition, PartitionId id,
               std::string_view group, int64_t ready_in_ms);
  // Hints and ids may be wrong: a connection was lost.
  void Forget();

  size_t waiting() const { return waiting_; }
  size_t open() const { return pops_.size(); }

  bool HasWork() const override;
  void SendOne() override;

 private:
  struct LeaseChunk;

  static void ForgetNames(PopGroup& group);
  PopGroup& GroupOf(const std::string& queue, const std::string& name);
  // Decides what `pop` needs next and puts it there.
  void Advance(const PopPtr& pop);
  void AdvanceWildcard(const PopPtr& pop);
  void Wait(const PopPtr& pop);
  // There may be something in `id`: lets a waiter for it try.
  void Announce(PopGroup& group, PartitionId id, std::string_view name = {});
  void WakeWaiters(PopGroup& group, size_t count);
  void WakeAll(PopGroup& group, std::vector<PopPtr> woken);
  void Finish(const PopPtr& pop, PopState state, Result<PopResult> result);
  void Fail(const PopPtr& pop, const Status& status);
  void Abandon(const PopPtr& pop, Result<PopResult> result);
  void OnBatchFailed(const std::vector<PopPtr>& pops, std::deque<PopPtr>& stage,
                     const pg::BatchResult& result);

  std::vector<PopPtr> TakeChunk(std::deque<PopPtr>& stage) const;
  void SendNaming();
  void OnNamed(const std::vector<PopPtr>& pops, const pg::BatchResult& result);
  void SendResolve();
  void OnResolved(PopGroup& group, const pg::BatchResult& result);
  void EndRound(PopGroup& group);
  void SendLease();
  void OnLeased(const std::shared_ptr<LeaseChunk>& chunk, const pg::BatchResult& result);
  void OnLeaseRow(LeaseChunk& chunk, const pg::Rows& rows, int row);
  // The lease on a (partition, group) is no longer in flight; whether it was announced meanwhile.
  bool EndLeasing(int64_t key);
  void DropClaim(const Pop& pop, PartitionId partition);
  void Unblock(int64_t key);
  void BeginFetch(const PopPtr& pop);
  void SendFetch();
  void OnFetched(const std::vector<PopPtr>& pops, const std::vector<SegmentKey>& keys,
                 const pg::BatchResult& result);
  void Complete(const PopPtr& pop);
  void GiveBack(const Pop& pop);
  void SendRelease();

  void SetTimer(int64_t at_ms);
  void OnTimer();
  void CheckGroup(PopGroup& group, int64_t now);

  Loop& loop_;
  Scheduler& scheduler_;
  SegmentCache& cache_;
  const PopLimits limits_;

  std::unordered_map<std::string, std::unique_ptr<PopGroup>> groups_;  // by queue NUL group
  std::unordered_map<std::string, std::vector<PopGroup*>> by_queue_;
  std::unordered_map<uint64_t, PopPtr> pops_;  // not finished
  size_t waiting_ = 0;

  std::deque<PopPtr> naming_;
  std::deque<PopGroup*> resolve_;
  std::deque<PopPtr> lease_;
  std::deque<PopPtr> fetch_;
  struct Given {
    PopGroup* group;
    int32_t group_id;
    PartitionId partition;
    Uuid lease_id;
  };
  std::deque<Given> release_;
  size_t next_stage_ = 0;

  // Claimed: the (partition, group)s of all pops in lease_ or in a lease in flight (see KeyOf).
  std::unordered_set<int64_t> leasing_;
  // Those of leasing_ that were announced meanwhile: that the lease finds nothing is no news.
  std::unordered_set<int64_t> announced_;
  std::unordered_map<int64_t, std::deque<PopPtr>> blocked_;  // behind one of them
  std::multimap<int64_t, std::weak_ptr<Pop>> deadlines_;
  Timer timer_;
  int64_t timer_at_ms_ = 0;  // 0: not running
};

}  // namespace queen::sidecar
