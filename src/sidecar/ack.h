// AckQueue: verdicts on their way to append_lanes. An ack names its message by transactionId; where
// the process has not delivered that message itself, the offset is looked up first (find stage).
// Then acks wait per (partition, group); each is in at most one batch in flight, and a batch takes
// all that wait under the same lease as one fold (ack_fold.h).
//
// How a batch may end: `again` rows and retryable failures go again until their deadline; a refused
// batch is sent caller by caller (I7); after an unknown end completed acks are simply repeated,
// other verdicts are answered outcome_unknown, because counting a failure twice would be wrong.
// Either may have ended its lease with nobody told, so the owner of the queue is told to look.
// An ack that ends a lease carries the next one of its lane to a pop that waits (hand_over.h).
// What waits for a connection is answered 503 at its deadline; what is in flight is bounded by the
// connection's own.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/database_clock.h"
#include "engine/verbs.h"
#include "loop/timer.h"
#include "sidecar/ack_fold.h"
#include "sidecar/hand_over.h"
#include "sidecar/lane_answers.h"
#include "sidecar/scheduler.h"

namespace queen::sidecar {

struct AckLimits {
  size_t keys_per_batch = 500;
  size_t items_per_find = 5'000;
  int64_t items_waiting_max = 200'000;
  int64_t deadline_ms = 30'000;
};

class AckQueue final : public Scheduler::Source {
 public:
  // A lease has ended: the partition is free for the group.
  using Freed = UniqueFunction<void(const state::AckTarget& target, PartitionId partition,
                                    std::string_view group, const LeaseEnd& end)>;

  AckQueue(Loop& loop, Scheduler& scheduler, const state::DeliveredIndex& delivered,
           engine::LaneCache& lanes, engine::DatabaseClock& clock, HandOver& hand_over,
           const AckLimits& limits, int64_t broker, Freed freed);

  void Submit(AckRequest request);
  // A connection was lost: what was decided and not sent is decided again.
  void Forget();
  // The slots are closed: answers whatever still waits.
  void Shutdown();
  int64_t items_waiting() const { return items_waiting_; }

  bool HasWork() const override { return !find_.empty() || !ready_.empty() || !decided_.empty(); }
  bool IsWorthAnother() const override;
  void SendOne() override;

 private:
  struct Key {
    int64_t number = 0;
    engine::LaneKey lane;
    std::deque<AckGroup> groups;
    bool on_its_way = false;  // in ready_, in flight or paused
    // Carried by batches without an answer: given back when it is known what became of those.
    std::vector<DoubtfulLease> doubtful;
  };
  struct Batch {
    struct Row {
      Key* key = nullptr;
      std::vector<AckGroup> groups;
      engine::Verdicts fold;
      bool load = false;   // its lane is to be loaded before it is decided
      bool gone = false;   // ... and is not there
      bool again = false;  // another change came between
      AckAnswer answer;
      engine::VerdictOutcome outcome;  // kApplied
      int64_t ready_in_ms = 0;         // what the lease leaves may be had then
      int append = -1;                 // its place in `appends`
      int lease = -1;                  // of the lease that it carries, in `leases`
    };
    std::vector<Row> rows;
    engine::AppendRequest appends;
    HandOver::Leases leases;
    int64_t generation = 0;  // of the lanes, when they were decided
    int64_t sent_ms = 0;     // the append
  };

  void SendFind();
  void OnFound(const std::vector<std::shared_ptr<AckCall>>& calls,
               const std::vector<std::pair<AckCall*, uint32_t>>& asked,
               const pg::BatchResult& result);
  bool LookUpAgain(const std::shared_ptr<AckCall>& call, uint32_t item, const AckOutcome& outcome);
  void DecideDoubted(AckCall& call, uint32_t item);
  // Targets are known: puts the undecided items to their keys.
  void Distribute(const std::shared_ptr<AckCall>& call);
  void MakeReady(Key& key);
  void SendBatch();
  void DecideAcks(Batch& batch, bool loaded);
  void SendLoad(const std::shared_ptr<Batch>& batch);
  void OnLoaded(const std::shared_ptr<Batch>& batch, const std::vector<engine::LaneAsk>& asks,
                int64_t load, int64_t generation, const pg::BatchResult& result);
  void SendAppend(const std::shared_ptr<Batch>& batch);
  void CarryLeases(Batch& batch);
  void DoubtLeases(Batch& batch);
  void GiveBackDoubtful(Key& key);
  void OnAcked(const std::shared_ptr<Batch>& batch, const pg::BatchResult& result);
  // `took_ms`: since the append was sent. PostgreSQL has read its clock in that time.
  static void AfterAppend(Batch::Row& row, const storage::append_lanes::Row& appended,
                          int64_t took_ms);
  void OnRow(Batch::Row& row);
  void OnFailed(Batch& batch, const pg::BatchResult& result, bool appended);
  // Tells the owner of the queue that the row's lease has ended.
  void TellFreed(const Batch::Row& row, const LeaseEnd& end);
  void GoAgain(Batch::Row& row);
  static void DropDecided(Key& key);
  void Release(Key& key);
  void OnPauseOver();
  void OnTick();

  void Decide(AckCall& call, uint32_t item, AckOutcome outcome);
  // The items could not be carried out, or nobody knows: each is answered with `status`.
  void Fail(const AckGroup& group, const Status& status);
  // The same for whatever of the call is still open, wherever it waits.
  void FailCall(AckCall& call, const Status& status);

  Loop& loop_;
  Scheduler& scheduler_;
  const state::DeliveredIndex& delivered_;
  engine::LaneCache& lanes_;
  engine::DatabaseClock& clock_;
  HandOver& hand_over_;
  const AckLimits limits_;
  const int64_t broker_;
  Freed freed_;

  std::deque<std::shared_ptr<AckCall>> find_;
  std::unordered_map<int64_t, std::unique_ptr<Key>> keys_;
  std::deque<Key*> ready_;
  std::deque<std::shared_ptr<Batch>> decided_;  // loaded, to be appended
  bool found_last_ = false;
  std::vector<Key*> paused_;
  int64_t items_waiting_ = 0;
  int64_t pause_ms_;  // grows while batches fail
  Timer pause_;
  Timer tick_;  // runs while anything waits
};

}  // namespace queen::sidecar
