// LeaseReturns: leases that nobody uses are given back as if they had not been taken, because their
// client has gone, or because nobody has heard the answer. Each is tried until PostgreSQL has
// decided about it, with growing pauses, for ten minutes at most; then it runs out by itself.
//
//   waiting --decide--> append --won, or no such lease--> done
//     ^  |  unsure        |  ^
//     |  +-----> load ----|--+
//     +-------- pause <---+ lost, busy, no answer
//
// A lane that says that the lease is over is believed only if it was loaded for this call.
// On the worker's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/unique_function.h"
#include "base/uuid.h"
#include "engine/database_clock.h"
#include "engine/lane_cache.h"
#include "engine/verbs.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "pg/batch.h"
#include "sidecar/scheduler.h"

namespace queen::sidecar {

class LeaseReturns {
 public:
  struct Limits {
    size_t waiting_max = 0;   // beyond it leases run out by themselves
    size_t per_call_max = 0;  // lanes in one call
    int64_t tries_for_ms = 600'000;
  };
  // Whether the lease is over for certain; false: it was given up.
  using Done = UniqueFunction<void(bool over)>;

  // Batches are sent in the name of `source`.
  LeaseReturns(Loop& loop, Scheduler& scheduler, Scheduler::Source& source,
               engine::LaneCache& lanes, engine::DatabaseClock& clock, const Limits& limits,
               int64_t broker);
  ~LeaseReturns();

  // False: there are too many already, and `done` is never called.
  bool Add(const engine::LaneKey& lane, const Uuid& lease_id, Done done);

  bool HasWork() const { return !decided_.empty() || (!waiting_.empty() && !pause_.IsActive()); }
  // REQUIRES: HasWork()
  void SendOne();

  // A connection was lost: what was decided and not sent is decided anew.
  void Forget();
  void Shutdown() { pause_.Stop(); }

 private:
  struct Lease;
  struct Call;

  std::shared_ptr<Call> TakeCall();
  void Decide(Call& call, bool loaded);
  void SendLoad(const std::shared_ptr<Call>& call);
  void OnLoaded(const std::shared_ptr<Call>& call, const std::vector<engine::LaneAsk>& asks,
                int64_t load, int64_t generation, const pg::BatchResult& result);
  void SendAppend(const std::shared_ptr<Call>& call);
  void OnAppended(Call& call, const pg::BatchResult& result);
  void Fail(Call& call);
  void Finish(Call& call);

  Loop& loop_;
  Scheduler& scheduler_;
  Scheduler::Source& source_;
  engine::LaneCache& lanes_;
  engine::DatabaseClock& clock_;
  const Limits limits_;
  const int64_t broker_;
  std::deque<Lease> waiting_;
  std::deque<std::shared_ptr<Call>> decided_;  // loaded, to be appended
  int64_t pause_ms_ = 0;                       // the last one
  Timer pause_;
};

}  // namespace queen::sidecar
