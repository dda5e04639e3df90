#include "sidecar/family_pop.h"

#include <algorithm>

#include "storage/procedures.h"

namespace queen::sidecar {

FamilyPop::FamilyPop(Loop& loop, Engine& engine, Lookups& lookups, Conditions conditions,
                     PopRequest request, PopDone done)
    : loop_(loop),
      engine_(engine),
      lookups_(lookups),
      conditions_(std::move(conditions)),
      request_(std::move(request)),
      done_(std::move(done)),
      deadline_ms_(loop.NowMillis() + request_.wait_ms) {}

void FamilyPop::Start() {
  if (conditions_.paused()) return EndRound();
  pg::Params params(2);
  const auto add = [&params](const std::optional<std::string>& name) {
    if (name) {
      params.Text(*name);
    } else {
      params.Null(pg::oid::kText);
    }
  };
  add(request_.namespace_name);
  add(request_.task);
  lookups_.Ask(
      storage::kFindQueues, std::move(params),
      [self = shared_from_this()](const pg::BatchResult& result) { self->OnQueues(result); });
}

void FamilyPop::Cancel() {
  if (cancel_current_) cancel_current_();
  pause_.reset();
  Finish(PopResult{});
}

void FamilyPop::OnQueues(const pg::BatchResult& result) {
  if (!done_) return;
  queues_.clear();
  next_ = 0;
  if (result.ok()) {
    const pg::Rows& rows = result.rows[0];
    for (int row = 0; row < rows.rows(); ++row) queues_.emplace_back(rows.Text(row, 0));
  } else if (request_.wait_ms <= 0 || !result.status.retryable()) {
    Finish(result.status);
    return;
  }
  TryNext();
}

void FamilyPop::TryNext() {
  if (!done_) return;
  if (next_ == queues_.size()) {
    EndRound();
    return;
  }
  PopRequest one = request_;
  one.queue = queues_[next_++];
  one.namespace_name.reset();
  one.task.reset();
  one.wait_ms = 0;
  cancel_current_ = engine_.Pop(std::move(one), [self = shared_from_this()](Result<PopResult> got) {
    if (got.ok() && got->deliveries.empty()) {
      self->TryNext();
    } else if (!got.ok() && got.status().retryable() && self->request_.wait_ms > 0) {
      self->EndRound();
    } else {
      self->Finish(std::move(got));
    }
  });
}

void FamilyPop::EndRound() {
  if (!done_) return;
  const int64_t left = deadline_ms_ - loop_.NowMillis();
  if (left <= 0 || !conditions_.may_wait()) {
    Finish(PopResult{});
    return;
  }
  pause_ = std::make_unique<Timer>(loop_, [self = shared_from_this()]() mutable {
    const auto kept = std::move(self);  // the timer, which ends here, held it
    kept->pause_.reset();
    kept->Start();
  });
  pause_->Start(std::min(pause_ms_, left));
  pause_ms_ = std::min(pause_ms_ * 2, kRoundMaxMs);
}

void FamilyPop::Finish(Result<PopResult> result) {
  if (!done_) return;
  PopDone done = std::move(done_);
  done_ = nullptr;
  done(std::move(result));
}

}  // namespace queen::sidecar
