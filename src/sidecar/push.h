// PushQueue: from pushed items to committed segments. Items wait per partition, in order, and a
// partition is in at most one batch in flight, so its pushes commit in the order they came (I1).
//
//   a partition with items is   unresolved  its id is not known        -> kFindPartitions
//                               missing     there is none of that name -> kEnsurePartitions
//                               ready       in ready_, next in a batch -> kPushMessages
//                               in flight   its later items wait
//                               paused      it was busy in PostgreSQL; tried again soon
//                               aside       messages before it are in the file buffer
//
// How a batch may end, and what becomes of its items:
//   queued       answered; the segments go to the cache and the partition is announced
//   duplicate    those lines are answered, the others go again at once; the partition is announced
//   busy, gone   the partition goes again, after a pause or with a new id
//   stale        the queue's encryption was switched: it goes again, encrypted or not
//   refused      one caller's fault must not be another's (I7): every group goes again by itself,
//                and only a group refused alone is answered `failed`
//   not sent, or try again    all go again until their deadline
//   unknown      PostgreSQL is asked whether the batch committed; only then are its items answered
//                or sent again (push_doubt.cc)
//
// A batch carries the leases of pops that wait for what it pushes (hand_over.h, push_leases.cc).
//
// When PostgreSQL is away, or a partition has messages in the file buffer, items take the way
// around through that buffer (push_detour.cc).
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/database_clock.h"
#include "engine/lane.h"
#include "loop/timer.h"
#include "sidecar/hand_over.h"
#include "sidecar/lookups.h"
#include "sidecar/push_batch.h"
#include "sidecar/push_buffer.h"
#include "sidecar/scheduler.h"
#include "sidecar/segment_cache.h"
#include "sidecar/untimed_keeper.h"
#include "state/queue_capacity.h"
#include "storage/calls/push_and_lease.h"

namespace queen::sidecar {

struct PushLimits {
  int64_t items_per_batch = 1'000;  // at least one group, whatever its size
  size_t bytes_per_batch = size_t{8} << 20;
  int64_t partitions_per_batch = 200;  // each holds an advisory lock until the commit
  int64_t items_waiting_max = 200'000;
  size_t bytes_waiting_max = size_t{256} << 20;
  int64_t deadline_ms = 30'000;         // from arrival to "503, try again"
  size_t idle_partitions_max = 50'000;  // remembered with their id and dedup memory
  // Of a process: what is remembered of ids without a time inside, some 12 bytes each.
  static constexpr size_t kUntimedBytesMax = size_t{128} << 20;
};

// The way around PostgreSQL. Without a buffer a push is refused while no connection is up.
struct PushDetour {
  PushBuffer* buffer = nullptr;
  std::function<bool()> away;  // whether PostgreSQL counts as away (sidecar.h)
};

class PushQueue final : public Scheduler::Source {
 public:
  // Called after a commit, once per partition, with what was stored; without that something was
  // stored before, and nobody may have heard of it.
  using Announce =
      UniqueFunction<void(std::string_view queue, std::string_view partition, PartitionId id,
                          const std::vector<engine::SegmentSpan>& segments)>;

  // Called when a push has made its queue, before anything is pushed to it.
  using Born = UniqueFunction<void(std::string_view queue)>;

  // New partitions are made through `names`, memories filled through `fills` in the room of the
  // process.
  PushQueue(Loop& loop, Scheduler& scheduler, Lookups& names, Lookups& fills, UntimedRoom& room,
            SegmentCache& cache, state::QueueCapacity& capacity,
            const storage::PayloadCipher& cipher, engine::LaneCache& lanes,
            engine::DatabaseClock& clock, HandOver& hand_over, const PushLimits& limits,
            int64_t broker, Announce announce, Born born, PushDetour detour = {});

  void Submit(PushRequest request);

  // A connection was lost: the database behind it may have gone back in time. Drops what is only
  // remembered.
  void Forget();

  // Sees to it that what waits takes the way around if PostgreSQL is, or will be, away.
  void Watch();

  // The slots are closed: answers whatever still waits.
  void Shutdown();

  int64_t items_waiting() const { return items_waiting_; }
  // Partitions remembered, most of them with their ids.
  size_t partitions_known() const { return partitions_.size(); }

  bool HasWork() const override;
  bool IsWorthAnother() const override;
  void SendOne() override;

 private:
  enum class State { kIdle, kUnresolved, kResolving, kReady, kInFlight, kPaused, kAside };

  struct Partition {
    explicit Partition(UntimedRoom& room) : untimed(room) {}
    std::string queue;
    std::string name;
    std::optional<PartitionId> id;
    // Whether its queue is encrypted, as far as known: PostgreSQL compares, and answers `stale`.
    std::optional<bool> encrypted;
    State state = State::kIdle;
    std::deque<PushGroup> groups;
    DedupMemory memory;
    UntimedKeeper::Entry untimed;
    int64_t pause_ms = 0;                        // of the last pause, 0 when it was not busy
    std::list<Partition*>* idle_list = nullptr;  // that it is in; nullptr: it has work
    std::list<Partition*>::iterator idle_place;
    int64_t idle_since_ms = 0;
  };
  struct Batch {
    struct Part {
      Partition* partition;
      PushWork work;
    };
    int64_t n = 0;
    std::vector<Part> parts;
    std::vector<std::pair<size_t, size_t>> segments;  // ordinal - 1 -> part, segment
    int64_t items = 0;
    size_t bytes = 0;
    bool asking = false;
    HandOver::Leases leases;
    std::vector<storage::push_and_lease::Lease> carried;
    std::vector<size_t> carried_parts;    // whose segments they are on
    int64_t generation = 0;               // of the lanes, when they were decided
    std::vector<DoubtfulLease> doubtful;  // they were carried, and no answer came
  };

  void RefuseWhatIsTooMuch(PushCall& call);
  void RefuseWhatIsUnreadable(PushCall& call);
  Partition& PartitionOf(std::string_view queue, std::string_view name);
  void Enqueue(Partition& partition);
  void BecomeIdle(Partition& partition);
  void ListIdle(Partition& partition, std::list<Partition*>& list);
  void ForgetIds(Partition& partition);
  void Retake(Partition& partition, std::vector<PushGroup> groups);

  void SendBatch();
  void TakeGroups(Partition& partition, Batch& batch);
  static std::pair<int64_t, int64_t> KnownRange(const Partition& partition,
                                                const PushSegment& segment);
  void OnPushed(const std::shared_ptr<Batch>& batch, const pg::BatchResult& result);
  void OnAnswered(Batch& batch, const pg::Rows& rows, int rows_end);
  void FinishPartition(Partition& partition, PushWork& work);
  void SwitchEncryption(Partition& partition, PushWork& work);
  void OnRefused(Batch& batch, const pg::BatchResult& result);
  void GoAgain(Batch& batch);

  // push_leases.cc
  void CarryLeases(Batch& batch);
  void OnStored(const std::shared_ptr<Batch>& batch, const pg::Rows& rows);
  void EndLeases(const Batch& batch);
  void DoubtLeases(Batch& batch);
  void GiveBackDoubtful(Batch& batch);
  static std::vector<engine::SegmentSpan> SpansOf(const PushWork& work);

  // push_names.cc
  void SendFind();
  void OnFound(const std::vector<Partition*>& partitions, const pg::BatchResult& result);
  void MakeMissing();
  void OnMade(const std::vector<Partition*>& partitions, const pg::BatchResult& result);
  static pg::Params NamesOf(const std::vector<Partition*>& partitions);
  void TakeId(Partition& partition, const pg::Rows& rows, int row);
  void FailNaming(Partition& partition, const pg::BatchResult& result);

  // push_doubt.cc
  void AskWhetherCommitted(const std::shared_ptr<Batch>& batch);
  void SendQuestions();
  void OnCommitKnown(const std::shared_ptr<Batch>& batch, const pg::BatchResult& result);
  void OnCommitted(Batch& batch, const pg::Rows& rows);
  void ExpireDoubtful();
  void DivertDoubtful();
  void DropDecided(Batch& batch);

  // push_detour.cc
  void MoveAhead(Partition& partition);
  bool Away() const { return detour_.buffer != nullptr && detour_.away(); }
  bool MustStandAside(const Partition& partition) const;
  void StandAside(Partition& partition);
  bool MustWait(const Partition& partition) const;
  void ReviewAside();
  void DivertIfHeld(Partition& partition);
  void DivertWaiting();
  void Divert(Partition& partition);
  void Buffer(const Partition& partition, PushGroup group);
  void OnBuffered(PushGroup& group, const std::vector<Uuid>& made_txns, const Status& status);
  template <typename Groups>
  static bool HasReplays(const Groups& groups) {
    return std::any_of(groups.begin(), groups.end(),
                       [](const PushGroup& group) { return group.call->request.replay; });
  }
  pg::Batch BeginBatch(bool replays) const;
  bool IsToBlame(const PushGroup& group, const pg::BatchResult& result);

  void Decide(const PushLine& line, PushOutcome outcome);
  void DecideQueued(const PushWork& work, const PushSegment& segment);
  void Fail(PushGroup& group, const Status& status);
  void FailCall(PushCall& call, const Status& status);
  void Pause(Partition& partition);
  void ExpireGroups(Partition& partition);
  void StartTick();
  void OnTick();

  Loop& loop_;
  Scheduler& scheduler_;
  Lookups& names_;
  UntimedKeeper untimed_;
  SegmentCache& cache_;
  state::QueueCapacity& capacity_;
  const storage::PayloadCipher& cipher_;
  engine::LaneCache& lanes_;
  engine::DatabaseClock& clock_;
  HandOver& hand_over_;
  const PushLimits limits_;
  const int64_t broker_;
  Announce announce_;
  Born born_;
  const PushDetour detour_;
  int64_t next_batch_ = 0;

  std::string key_;  // scratch for look-ups
  std::unordered_map<std::string, std::unique_ptr<Partition>> partitions_;
  // Both with the least recently used first; those idle for long remember less.
  std::list<Partition*> idle_;
  std::list<Partition*> long_idle_;
  std::deque<Partition*> unresolved_;
  std::deque<Partition*> ready_;
  bool found_last_ = false;
  std::unordered_set<Partition*> resolving_;  // asked for, missing, or being made
  std::deque<Partition*> missing_;            // of those: to be made
  bool making_ = false;
  std::unordered_set<Partition*> aside_;  // have items that wait for the buffer, in any state
  std::vector<std::pair<int64_t, Partition*>> paused_;  // until when
  std::vector<std::shared_ptr<Batch>> doubtful_;        // waiting to ask whether they committed
  int64_t items_waiting_ = 0;
  size_t bytes_waiting_ = 0;
  int64_t replays_waiting_ = 0;  // items, also counted in items_waiting_
  Timer tick_;                   // runs while something is paused, doubtful, aside or disconnected
};

}  // namespace queen::sidecar
