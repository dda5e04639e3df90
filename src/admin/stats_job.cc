#include "admin/stats_job.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "storage/procedures.h"

namespace queen::admin {
namespace {

Uuid RandomUuid() {
  Uuid uuid;
  SecureRandomBytes(uuid.bytes.data(), uuid.bytes.size());
  return uuid;
}

}  // namespace

StatsJob::StatsJob(AdminPool& pool, int64_t interval_ms)
    : pool_(pool),
      interval_ms_(interval_ms),
      holder_(RandomUuid()),
      timer_(pool.loop(), [this] { Next(); }) {}

void StatsJob::Start() {
  pool_.loop().AssertOwner();
  stopped_ = false;
  Next();
}

void StatsJob::Stop() {
  pool_.loop().AssertOwner();
  if (stopped_) return;
  stopped_ = true;
  timer_.Stop();
  if (walking_) {
    pg::Params params(1);
    params.Uuid(holder_);
    pool_.Execute(pool_.loop(), pg::Batch(storage::kLeaveStats, std::move(params)),
                  [](const pg::BatchResult&) {});
  }
  Fail(Status(Code::kShuttingDown));
}

void StatsJob::Refresh(Loop& caller, Done<bool> done) {
  pool_.loop().Post([this, &caller, done = std::move(done)]() mutable {
    waiting_.push_back({&caller, std::move(done)});
    if (stopped_) {
      Fail(Status(Code::kDatabaseUnavailable, "The database is not ready yet"));
    } else if (!hurried_) {
      Next();
    }
  });
}

// Somebody who waits goes before a pass that nobody waits for.
void StatsJob::Next() {
  if (stopped_ || in_flight_) return;
  timer_.Stop();
  if (walking_ && (hurried_ || waiting_.empty())) return Step();
  Begin();
}

void StatsJob::Ask(const pg::Statement& statement, pg::Params params,
                   void (StatsJob::*take)(const pg::BatchResult& result, int64_t took_ms)) {
  in_flight_ = true;
  const int64_t begun = pool_.loop().NowMillis();
  pool_.Execute(pool_.loop(), pg::Batch(statement, std::move(params)),
                [this, take, begun](const pg::BatchResult& result) {
                  in_flight_ = false;
                  if (stopped_) return;
                  if (result.ok()) {
                    return (this->*take)(result, pool_.loop().NowMillis() - begun);
                  }
                  log::Debug("the numbers of queues could not be measured",
                             {{"error", result.status.ToString()}});
                  Fail(result.status);
                });
}

// ---- beginning

void StatsJob::Begin() {
  walking_ = false;
  if (serving_.empty()) {
    serving_.swap(waiting_);
    since_.reset();
  }
  hurried_ = !serving_.empty();
  pg::Params params(4);
  params.Uuid(holder_).Int8(interval_ms_).Bool(hurried_).TimestampTzOrNull(since_);
  Ask(storage::kBeginStats, std::move(params), &StatsJob::OnBegun);
}

void StatsJob::OnBegun(const pg::BatchResult& result, int64_t /*took_ms*/) {
  const pg::Rows& rows = result.rows[0];
  const std::string_view state = rows.Text(0, 0);
  const int64_t wait_ms = rows.Int8(0, 1);
  since_ = rows.TimestampTz(0, 2);
  if (state == "yours") {
    walking_ = true;
    queue_ = 0;
    after_ = 0;
    carry_.reset();
    return Step();
  }
  if (state == "fresh" && hurried_) return Answer(true);
  Rest(wait_ms);
}

// ---- walking

void StatsJob::Step() {
  pg::Params params(5);
  params.Uuid(holder_).Int4(queue_).Int4(after_);
  carry_ ? params.Jsonb(*carry_) : params.Null(pg::oid::kJsonb);
  params.Int4(kProbesPerStep);
  Ask(storage::kMeasureStats, std::move(params), &StatsJob::OnStep);
}

void StatsJob::OnStep(const pg::BatchResult& result, int64_t took_ms) {
  const pg::Rows& rows = result.rows[0];
  const std::string_view state = rows.Text(0, 0);
  if (state == "going") {
    queue_ = rows.Int4(0, 1);
    after_ = rows.Int4(0, 2);
    carry_ = rows.Text(0, 3);
    timer_.Start(std::clamp<int64_t>(took_ms * (hurried_ ? 1 : kPauseFactor), 1, kPauseMaxMs));
    return;
  }
  walking_ = false;
  if (state == "done") return Answer(true);
  Rest(hurried_ ? kWaitMinMs : interval_ms_);
}

// ---- resting

void StatsJob::Rest(int64_t wait_ms) {
  const bool asked_meanwhile = serving_.empty() && !waiting_.empty();
  timer_.Start(asked_meanwhile ? 0 : std::max(wait_ms, kWaitMinMs));
}

void StatsJob::Fail(const Status& status) {
  walking_ = false;
  for (Waiter& waiter : waiting_) serving_.push_back(std::move(waiter));
  waiting_.clear();
  Answer(status);
}

// The pass is over: tells those it was made for.
void StatsJob::Answer(const Result<bool>& result) {
  for (Waiter& waiter : std::exchange(serving_, {})) {
    waiter.loop->Post([done = std::move(waiter.done), result = Result<bool>(result)]() mutable {
      done(std::move(result));
    });
  }
  hurried_ = false;
  since_.reset();
  if (!stopped_) Rest(interval_ms_);
}

}  // namespace queen::admin
