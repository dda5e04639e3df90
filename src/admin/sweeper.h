// Sweeper: the background work that keeps the tables small. Nothing depends on it for being right:
// what a sweep would remove is already invisible to every procedure.
//
//   progress   old epochs of the groups' state
//   segments   messages past retention, completed retention or their maximum wait
//   orphans    rows of deleted queues, partitions and groups
//   batches    the ledger of write transactions, once nobody can ask about them any more
//   aged       traces, dead letters and starts of groups whose queue never came, past their days
//   streams    the state of streaming queries that were reset
//   minutes    what brokers did, minute by minute, past its days
//   hours      those minutes, added up by the hour for pages that show days
//   cleared    what a clear has hidden and its broker did not live to remove
//   audit      entries of the audit trail, past their days
//   runs       of the index over ids without a time inside: merged, and removed where they are
//   replaced
//
// Each step is a short transaction with a limit: a long one would keep every old row of the
// database alive. One step is in flight at a time, so sweeping never takes more than one connection
// of the pool; a sweep that reports more work goes on, taking turns with the others. Several
// brokers may sweep the same database.
//
// On the pool's loop.
#pragma once

#include <string_view>
#include <vector>

#include "admin/admin_pool.h"
#include "loop/timer.h"

namespace queen::admin {

struct SweepIntervals {
  int64_t progress_ms = 1'000;
  int64_t segments_ms = 60'000;
  int64_t orphans_ms = 2'000;
  int64_t batches_ms = 10'000;
  // Of batches: longer than any broker may take to come back and ask what became of one.
  int32_t batch_age_s = 600;
  int64_t aged_ms = 60'000;
  int64_t runs_ms = 500;
  // How long these are kept; 0: for ever.
  int32_t trace_days = 30;
  int32_t dead_letter_days = 365;
  int32_t early_group_days = 30;
  int32_t metrics_days = 7;
  int32_t audit_days = 90;
};

class Sweeper {
 public:
  // A pass over a large table goes on at its next turn after so many steps.
  static constexpr int kStepsPerTurn = 50;
  // A pass that found nothing doubles the pause before the next, up to this.
  static constexpr int64_t kIdlePauseMaxMs = 30'000;
  static constexpr int64_t kRunsPauseMaxMs = 4'000;  // the same for runs
  static constexpr int32_t kRowsPerStep = 5'000;
  static constexpr int32_t kKeysPerStep = 500;  // of progress
  static constexpr int64_t kStepsPerThorough = 360;
  static constexpr int32_t kPartitionsPerStep = 500;
  static constexpr int32_t kMessagesPerStep = 20'000;
  static constexpr int32_t kSegmentsPerStep = 500;  // of cleared

  Sweeper(AdminPool& pool, const SweepIntervals& intervals);

  void Start();
  // No further step is begun; one in flight ends with the pool.
  void Stop();

 private:
  struct Progress {
    int64_t removed = 0;
    bool more = false;
  };
  struct Sweep {
    std::string_view name;
    int64_t interval_ms;
    int64_t pause_max_ms;
    pg::Batch (Sweeper::*step)();
    Progress (Sweeper::*take)(const pg::Rows& rows);
    int64_t due_ms = 0;
    int64_t pause_ms = 0;
    int64_t removed = 0;  // in this pass
    int steps = 0;        // in this turn
  };

  pg::Batch StepProgress();
  Progress TakeProgress(const pg::Rows& rows);
  pg::Batch StepSegments();
  Progress TakeSegments(const pg::Rows& rows);
  pg::Batch StepOrphans();
  Progress TakeOrphans(const pg::Rows& rows);
  pg::Batch StepBatches();
  Progress TakeBatches(const pg::Rows& rows);
  pg::Batch StepAged();
  Progress TakeAged(const pg::Rows& rows);
  pg::Batch StepStreams();
  Progress TakeStreams(const pg::Rows& rows);
  pg::Batch StepMinutes();
  Progress TakeMinutes(const pg::Rows& rows);
  pg::Batch StepHours();
  Progress TakeHours(const pg::Rows& rows);
  pg::Batch StepCleared();
  Progress TakeCleared(const pg::Rows& rows);
  pg::Batch StepAudit();
  Progress TakeAudit(const pg::Rows& rows);
  pg::Batch StepRuns();
  Progress TakeRuns(const pg::Rows& rows);

  void Next();
  void OnStep(Sweep& sweep, const pg::BatchResult& result);
  void EndPass(Sweep& sweep);

  AdminPool& pool_;
  const SweepIntervals intervals_;
  std::vector<Sweep> sweeps_;
  Timer timer_;
  bool stopped_ = true;
  bool in_flight_ = false;

  // Where the next step goes on.
  int32_t progress_partition_ = 0;
  int32_t progress_group_ = 0;
  int32_t segments_after_ = 0;
  int32_t cleared_after_ = 0;
  int64_t batches_after_ = 0;
  int64_t batch_steps_ = 0;
};

}  // namespace queen::admin
