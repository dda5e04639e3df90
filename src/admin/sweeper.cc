#include "admin/sweeper.h"

#include <algorithm>

#include "base/log.h"
#include "storage/procedures.h"

namespace queen::admin {

Sweeper::Sweeper(AdminPool& pool, const SweepIntervals& intervals)
    : pool_(pool), intervals_(intervals), timer_(pool.loop(), [this] { Next(); }) {
  const auto idle_max = [](int64_t interval_ms) { return std::max(interval_ms, kIdlePauseMaxMs); };
  sweeps_ = {
      {"progress", intervals.progress_ms, idle_max(intervals.progress_ms), &Sweeper::StepProgress,
       &Sweeper::TakeProgress},
      {"segments", intervals.segments_ms, intervals.segments_ms, &Sweeper::StepSegments,
       &Sweeper::TakeSegments},
      {"orphans", intervals.orphans_ms, intervals.orphans_ms, &Sweeper::StepOrphans,
       &Sweeper::TakeOrphans},
      {"batches", intervals.batches_ms, intervals.batches_ms, &Sweeper::StepBatches,
       &Sweeper::TakeBatches},
      {"aged", intervals.aged_ms, intervals.aged_ms, &Sweeper::StepAged, &Sweeper::TakeAged},
      {"streams", intervals.aged_ms, intervals.aged_ms, &Sweeper::StepStreams,
       &Sweeper::TakeStreams},
      {"minutes", intervals.aged_ms, intervals.aged_ms, &Sweeper::StepMinutes,
       &Sweeper::TakeMinutes},
      {"hours", intervals.aged_ms, intervals.aged_ms, &Sweeper::StepHours, &Sweeper::TakeHours},
      {"cleared", intervals.orphans_ms, intervals.orphans_ms, &Sweeper::StepCleared,
       &Sweeper::TakeCleared},
      {"audit", intervals.aged_ms, intervals.aged_ms, &Sweeper::StepAudit, &Sweeper::TakeAudit},
      {"runs", intervals.runs_ms, kRunsPauseMaxMs, &Sweeper::StepRuns, &Sweeper::TakeRuns}};
}

void Sweeper::Start() {
  pool_.loop().AssertOwner();
  stopped_ = false;
  for (Sweep& sweep : sweeps_) {
    sweep.pause_ms = sweep.interval_ms;
    sweep.due_ms = pool_.loop().NowMillis() + sweep.interval_ms;
  }
  Next();
}

void Sweeper::Stop() {
  pool_.loop().AssertOwner();
  stopped_ = true;
  timer_.Stop();
}

// Sends the step that is due longest, or waits for the first.
void Sweeper::Next() {
  if (stopped_ || in_flight_) return;
  const int64_t now = pool_.loop().NowMillis();
  Sweep& sweep = *std::ranges::min_element(sweeps_, {}, &Sweep::due_ms);
  if (sweep.due_ms > now) {
    timer_.Start(sweep.due_ms - now);
    return;
  }
  in_flight_ = true;
  pool_.Execute(pool_.loop(), (this->*sweep.step)(), [this, &sweep](const pg::BatchResult& result) {
    in_flight_ = false;
    OnStep(sweep, result);
    Next();
  });
}

void Sweeper::OnStep(Sweep& sweep, const pg::BatchResult& result) {
  if (!result.ok()) {
    if (!stopped_) {
      log::Debug("a sweep failed", {{"sweep", sweep.name}, {"error", result.status.ToString()}});
    }
    EndPass(sweep);
    return;
  }
  const Progress progress = (this->*sweep.take)(result.rows[0]);
  sweep.removed += progress.removed;
  if (!progress.more) return EndPass(sweep);
  sweep.due_ms = pool_.loop().NowMillis();
  if (++sweep.steps < kStepsPerTurn) return;
  sweep.steps = 0;
  sweep.due_ms += sweep.interval_ms;
}

void Sweeper::EndPass(Sweep& sweep) {
  sweep.pause_ms =
      sweep.removed > 0 ? sweep.interval_ms : std::min(sweep.pause_ms * 2, sweep.pause_max_ms);
  sweep.due_ms = pool_.loop().NowMillis() + sweep.pause_ms;
  sweep.removed = 0;
  sweep.steps = 0;
}

// ---- the steps

pg::Batch Sweeper::StepProgress() {
  pg::Params params(3);
  params.Int4(progress_partition_).Int4(progress_group_).Int4(kKeysPerStep);
  return {storage::kSweepProgress, std::move(params)};
}

Sweeper::Progress Sweeper::TakeProgress(const pg::Rows& rows) {
  const bool more = !rows.IsNull(0, 1);
  progress_partition_ = more ? rows.Int4(0, 1) : 0;
  progress_group_ = more ? rows.Int4(0, 2) : 0;
  return {rows.Int4(0, 0), more};
}

pg::Batch Sweeper::StepSegments() {
  pg::Params params(3);
  params.Int4(segments_after_).Int4(kPartitionsPerStep).Int4(kMessagesPerStep);
  return {storage::kSweepSegments, std::move(params)};
}

Sweeper::Progress Sweeper::TakeSegments(const pg::Rows& rows) {
  const bool more = !rows.IsNull(0, 3);
  segments_after_ = more ? rows.Int4(0, 3) : 0;
  return {rows.Int4(0, 0) + rows.Int4(0, 1), more};
}

pg::Batch Sweeper::StepOrphans() {
  pg::Params params(1);
  params.Int4(kRowsPerStep);
  return {storage::kSweepOrphans, std::move(params)};
}

Sweeper::Progress Sweeper::TakeOrphans(const pg::Rows& rows) {
  return {rows.Int4(0, 0), rows.Bool(0, 1)};
}

pg::Batch Sweeper::StepBatches() {
  // Now and then from the beginning: a transaction may have committed behind those removed since.
  if (++batch_steps_ % kStepsPerThorough == 0) batches_after_ = 0;
  pg::Params params(3);
  params.Int4(intervals_.batch_age_s).Int4(kRowsPerStep).Int8(batches_after_);
  return {storage::kSweepBatches, std::move(params)};
}

Sweeper::Progress Sweeper::TakeBatches(const pg::Rows& rows) {
  const int32_t removed = rows.Int4(0, 0);
  batches_after_ = rows.Int8(0, 1);
  return {removed, removed == kRowsPerStep};
}

pg::Batch Sweeper::StepAged() {
  pg::Params params(4);
  params.Int4(intervals_.trace_days).Int4(intervals_.dead_letter_days);
  params.Int4(intervals_.early_group_days).Int4(kRowsPerStep);
  return {storage::kSweepAged, std::move(params)};
}

Sweeper::Progress Sweeper::TakeAged(const pg::Rows& rows) {
  return {rows.Int4(0, 0), rows.Bool(0, 1)};
}

pg::Batch Sweeper::StepStreams() {
  pg::Params params(1);
  params.Int4(kRowsPerStep);
  return {storage::kSweepStreamState, std::move(params)};
}

Sweeper::Progress Sweeper::TakeStreams(const pg::Rows& rows) {
  return {rows.Int4(0, 0), rows.Int4(0, 0) == kRowsPerStep};
}

pg::Batch Sweeper::StepMinutes() {
  pg::Params params(2);
  params.Int4(intervals_.metrics_days).Int4(kRowsPerStep);
  return {storage::kSweepMinutes, std::move(params)};
}

Sweeper::Progress Sweeper::TakeMinutes(const pg::Rows& rows) {
  return {rows.Int4(0, 0), rows.Bool(0, 1)};
}

pg::Batch Sweeper::StepHours() {
  pg::Params params(1);
  params.Int4(intervals_.metrics_days);
  return {storage::kAddUpHour, std::move(params)};
}

Sweeper::Progress Sweeper::TakeHours(const pg::Rows& rows) {
  const bool more = rows.Bool(0, 0);
  return {more ? 1 : 0, more};
}

pg::Batch Sweeper::StepCleared() {
  pg::Params params(2);
  params.Int4(cleared_after_).Int4(kSegmentsPerStep);
  return {storage::kSweepCleared, std::move(params)};
}

Sweeper::Progress Sweeper::TakeCleared(const pg::Rows& rows) {
  const bool more = !rows.IsNull(0, 1);
  cleared_after_ = more ? rows.Int4(0, 1) : 0;
  return {rows.Int4(0, 0), more};
}

pg::Batch Sweeper::StepAudit() {
  pg::Params params(2);
  params.Int4(intervals_.audit_days).Int4(kRowsPerStep);
  return {storage::kSweepAudit, std::move(params)};
}

Sweeper::Progress Sweeper::TakeAudit(const pg::Rows& rows) {
  return {rows.Int4(0, 0), rows.Bool(0, 1)};
}

pg::Batch Sweeper::StepRuns() { return {storage::kMergeUntimed, pg::Params(0)}; }

Sweeper::Progress Sweeper::TakeRuns(const pg::Rows& rows) {
  const bool more = rows.Bool(0, 0);
  return {more ? 1 : 0, more};
}

}  // namespace queen::admin
