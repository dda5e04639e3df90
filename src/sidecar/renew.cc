#include "sidecar/renew.h"

#include <algorithm>

#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr int64_t kPauseMs = 10;
constexpr int64_t kPauseMaxMs = 100;

}  // namespace

RenewQueue::RenewQueue(Loop& loop, Scheduler& scheduler)
    : loop_(loop), scheduler_(scheduler), pause_ms_(kPauseMs), pause_(loop, [this] {
        for (Renewal& renewal : paused_) waiting_.push_back(std::move(renewal));
        paused_.clear();
        scheduler_.Wake();
      }) {}

void RenewQueue::Submit(RenewRequest request, RenewDone done) {
  loop_.AssertOwner();
  if (waiting_.size() + paused_.size() >= kWaitingMax) {
    done(Status(Code::kOverloaded, "Too many lease extensions are waiting"));
    return;
  }
  if (!scheduler_.AnyUp()) {
    done(Status(Code::kDatabaseUnavailable));
    return;
  }
  waiting_.push_back({request, std::move(done), loop_.NowMillis() + kDeadlineMs});
  scheduler_.Wake();
}

void RenewQueue::Refuse(const Status& status) {
  pause_.Stop();
  for (Renewal& renewal : paused_) waiting_.push_back(std::move(renewal));
  paused_.clear();
  std::deque<Renewal> left = std::move(waiting_);
  waiting_.clear();
  for (Renewal& renewal : left) renewal.done(status);
}

void RenewQueue::SendOne() {
  std::vector<Renewal> renewals;
  pg::UuidArray leases;
  pg::Int4Array seconds;
  while (!waiting_.empty() && renewals.size() < kPerBatchMax) {
    leases.Add(waiting_.front().request.lease_id);
    seconds.Add(waiting_.front().request.seconds);
    renewals.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  pg::Params params(2);
  params.Add(std::move(leases)).Add(std::move(seconds));
  const auto count = static_cast<int64_t>(renewals.size());
  scheduler_.Execute(*this, count, pg::Batch(storage::kRenewLease, std::move(params)),
                     [this, renewals = std::move(renewals)](const pg::BatchResult& result) mutable {
                       OnRenewed(std::move(renewals), result);
                     });
}

void RenewQueue::OnRenewed(std::vector<Renewal> renewals, const pg::BatchResult& result) {
  pause_ms_ = result.ok() ? kPauseMs : std::min(pause_ms_ * 2, kPauseMaxMs);
  if (!result.ok()) {
    for (Renewal& renewal : renewals) GoAgain(std::move(renewal), result.status);
    return;
  }
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    Renewal& renewal = renewals[static_cast<size_t>(rows.Int4(row, 0)) - 1];
    const std::string_view state = rows.Text(row, 1);
    if (state == "again") {
      GoAgain(std::move(renewal), Status(Code::kDatabaseRetry));
    } else if (state == "renewed") {
      renewal.done(RenewResult{RenewResult::State::kRenewed, rows.TimestampTz(row, 2)});
    } else {
      renewal.done(RenewResult{
          state == "expired" ? RenewResult::State::kExpired : RenewResult::State::kUnknown, 0});
    }
  }
}

void RenewQueue::GoAgain(Renewal renewal, const Status& status) {
  if (!status.retryable() || !scheduler_.AnyUp() || loop_.NowMillis() >= renewal.deadline_ms) {
    renewal.done(status);
    return;
  }
  paused_.push_back(std::move(renewal));
  if (!pause_.IsActive()) pause_.Start(pause_ms_);
}

}  // namespace queen::sidecar
