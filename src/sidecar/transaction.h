// TransactionQueue: pushes and acks that are applied all or nothing. Nothing is batched: one
// transaction is one call of execute_transaction, so nobody else's work waits for its locks. On the
// worker's loop.
//
//   a transaction is   preparing   the partitions it pushes to are made, the messages it acks found
//                      executing   execute_transaction, with an n of its own for every attempt
//                      doubtful    the attempt ended without an answer; resolve_batch tells whether
//                                  it committed, and that it never will if it did not
//
// Between those it waits in ready_ for a slot, or in paused_ after a failure that may pass. Sent
// again is only what is known not to have committed. One that did commit is answered from what
// resolve_batch found, because a push without a transactionId could not be recognised by a replay.
// At the deadline: 503, and outcome_unknown when it is still doubtful.
//
// A cycle of a streaming query goes the same way, as a call of stream_cycle.
//
// Waiters hear of pushed messages and ended leases after the commit, never before (I11).
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "loop/timer.h"
#include "sidecar/lookups.h"
#include "sidecar/scheduler.h"
#include "sidecar/transaction_call.h"
#include "state/delivered_index.h"
#include "state/queue_capacity.h"

namespace queen::sidecar {

struct TransactionLimits {
  int64_t items_waiting_max = 200'000;  // pushes and acks
  size_t bytes_waiting_max = size_t{256} << 20;
  size_t partitions_max = 1'000;  // pushed to by one; each holds an advisory lock until the commit
  int attempts_max = 50;          // while PostgreSQL asks to try again
  int64_t deadline_ms = 30'000;
};

class TransactionQueue final : public Scheduler::Source {
 public:
  // After the commit: messages were pushed, a lease has ended.
  using Pushed =
      UniqueFunction<void(std::string_view queue, std::string_view partition, PartitionId id)>;
  using Freed = UniqueFunction<void(std::string_view queue, std::string_view partition,
                                    PartitionId id, std::string_view group)>;
  // It has made a queue, before anything is pushed to it.
  using Born = UniqueFunction<void(std::string_view queue)>;

  // `broker` must be nobody else's: the numbers of the attempts are counted here. New partitions
  // are made through `names`.
  TransactionQueue(Loop& loop, Scheduler& scheduler, Lookups& names,
                   const state::DeliveredIndex& delivered, state::QueueCapacity& capacity,
                   const storage::PayloadCipher& cipher, const TransactionLimits& limits,
                   int64_t broker, Pushed pushed, Freed freed, Born born);

  void Submit(TransactionRequest request);
  int64_t items_waiting() const { return items_waiting_; }

  bool HasWork() const override { return !ready_.empty(); }
  void SendOne() override;

 private:
  using Call = TransactionCall;
  using CallPtr = std::shared_ptr<Call>;

  bool Prepare(Call& call);
  bool Admit(Call& call);
  void SendPrepare(const CallPtr& call);
  void OnPrepared(const CallPtr& call, const pg::BatchResult& result);
  void OnPrepareFailed(const CallPtr& call, const Status& status);
  static void TakePart(Call& call, const pg::Rows& rows, int row);
  void MakeParts(const CallPtr& call);
  void OnPartsMade(const CallPtr& call, const pg::BatchResult& result);
  void BeginExecuting(const CallPtr& call);
  void SendExecute(const CallPtr& call);
  void OnExecuted(const CallPtr& call, const pg::BatchResult& result);
  void OnApplied(Call& call, const pg::Rows& rows);
  void OnCycleApplied(Call& call, const pg::Rows& rows);
  void OnFailed(const CallPtr& call, const pg::BatchResult& result);
  bool LookUpAgain(const CallPtr& call);
  void SendResolve(const CallPtr& call);
  void OnResolved(const CallPtr& call, const pg::BatchResult& result);
  void Announce(const Call& call, const std::vector<bool>& released);

  static void Forget(Call& call);
  void Ready(const CallPtr& call);
  void Pause(const CallPtr& call);
  void OnTick();
  Status LateStatus(const Call& call) const;
  void Refuse(Call& call, Code code, std::string_view reason);
  void Answer(Call& call, Result<TransactionResult> result);

  Loop& loop_;
  Scheduler& scheduler_;
  Lookups& names_;
  const state::DeliveredIndex& delivered_;
  state::QueueCapacity& capacity_;
  const storage::PayloadCipher& cipher_;
  const TransactionLimits limits_;
  const int64_t broker_;
  Pushed pushed_;
  Freed freed_;
  Born born_;
  int64_t next_n_ = 0;

  std::deque<CallPtr> ready_;
  std::vector<std::pair<int64_t, CallPtr>> paused_;  // until when
  int64_t items_waiting_ = 0;
  size_t bytes_waiting_ = 0;
  Timer tick_;  // runs while a transaction waits
};

}  // namespace queen::sidecar
