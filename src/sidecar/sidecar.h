// Sidecar: the engine of one worker. Owns its storage (slots of PostgreSQL), the queues of the
// operations and the caches, all on the worker's loop. Nothing in here is needed to be right after
// a crash: the database is the only truth, and losing a connection drops every cache and hint.
//
// PostgreSQL counts as away, and pushes take the way through the file buffer,
//   from  the moment that no connection was up for `away_after_ms`, or that no heartbeat (a small
//         write of our own) has committed for kHeartbeatLateMs, whatever the connections say: that
//         is a server that hangs, is read-only, or has no disk left
//   until a heartbeat commits.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "config/config.h"
#include "pg/storage.h"
#include "sidecar/ack.h"
#include "sidecar/lookups.h"
#include "sidecar/pop_state_machine.h"
#include "sidecar/push.h"
#include "sidecar/renew.h"
#include "sidecar/scheduler.h"
#include "sidecar/segment_cache.h"
#include "sidecar/transaction.h"

namespace queen::sidecar {

struct SidecarOptions {
  int slots = 4;        // of its storage
  int64_t hold_ms = 0;  // see Scheduler
  // This sidecar's name in queen.batches, one of `own`, > 0; its transactions go by the negative.
  int64_t broker = 0;
  OwnBrokers own;  // of the whole process
  size_t segment_cache_bytes = size_t{32} << 20;
  PushLimits push;
  PopLimits pop;
  AckLimits ack;
  TransactionLimits transaction;
  PushBuffer* buffer = nullptr;  // none: pushes are refused while PostgreSQL is away
  int64_t away_after_ms = 1'000;
  ReplyRoom* replies = nullptr;              // of the process; none: without limit
  PeerHints* peers = nullptr;                // the other brokers; none: there are none
  engine::Generation* generation = nullptr;  // of the process
  size_t lanes_max = 100'000;
  size_t lane_segments_max = 1'000'000;  // listed in them all
  UntimedRoom* room = nullptr;           // of the process, for remembered ids; none: of the sidecar
};

// What a sidecar tells the others of its process.
class Notices {
 public:
  // `segments` were stored; none: something was, and it is not known what.
  virtual void Pushed(std::string_view queue, std::string_view partition, PartitionId id,
                      const std::vector<engine::SegmentSpan>& segments) = 0;
  virtual void Freed(std::string_view queue, std::string_view partition, PartitionId id,
                     std::string_view group, const LeaseEnd& end) = 0;
  // A push has made this queue.
  virtual void Born(std::string_view queue) = 0;

 protected:
  ~Notices() = default;
};

class Sidecar {
 public:
  // On the loop's thread. What it is given by reference outlives this.
  Sidecar(Loop& loop, std::unique_ptr<pg::Storage> storage, const SidecarOptions& options,
          state::DeliveredIndex& delivered, state::QueueCapacity& capacity,
          const storage::PayloadCipher& cipher, Notices& notices);
  ~Sidecar();  // REQUIRES: closed, or never started

  // Begins to connect. Once, when the schema is in place.
  void Start();
  // Takes no more batches, waits for those in flight, answers what still waits with an error, then
  // runs `done`. Answers for other workers are posted to their loops, which must still run. Once.
  void Close(UniqueFunction<void()> done);

  PushQueue& push() { return push_; }
  PopStateMachine& pop() { return pop_; }
  AckQueue& ack() { return ack_; }
  TransactionQueue& transaction() { return transaction_; }
  RenewQueue& renew() { return renew_; }
  Lookups& lookups() { return lookups_; }
  const Scheduler& scheduler() const { return scheduler_; }
  const SegmentCache& cache() const { return cache_; }
  const engine::LaneCache& lanes() const { return lanes_; }
  // Whether commits have succeeded of late: a connection alone is no proof.
  bool database_up() const;
  // See above.
  bool DatabaseAway();

 private:
  static constexpr int64_t kHeartbeatMs = 2'000;
  // So long after the last heartbeat that committed the database counts as gone.
  static constexpr int64_t kHeartbeatLateMs = 10'000;

  void OnUp();
  void OnDown();
  void OnHeartbeatDue();
  void Beat();

  Loop& loop_;
  const int64_t broker_;
  const int64_t away_after_ms_;
  PushBuffer* const buffer_;
  state::DeliveredIndex& delivered_;
  engine::Generation& generation_;
  const std::unique_ptr<pg::Storage> storage_;
  Scheduler scheduler_;
  Lookups names_;  // those that are not there are made here, one call at a time
  Lookups fills_;  // what memories of ids are filled with
  UntimedRoom own_room_;
  SegmentCache cache_;
  engine::LaneCache lanes_;
  engine::DatabaseClock clock_;
  PushQueue push_;
  PopStateMachine pop_;
  AckQueue ack_;
  TransactionQueue transaction_;
  RenewQueue renew_;
  Lookups lookups_;
  bool started_ = false;
  bool beating_ = false;      // one is on its way
  int64_t last_beat_ms_ = 0;  // when the last one committed; 0 once all connections were lost
  int64_t last_commit_ms_;    // the same, but kept
  std::optional<int64_t> down_since_ms_;  // no connection is up
  bool away_ = false;
  Timer heartbeat_;
};

}  // namespace queen::sidecar
