#include "observe/observed_engine.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace queen::observe {
namespace {

using sidecar::PushOutcome;
using sidecar::Verdict;
using state::QueueTotals;

// How many of the messages in [first, last) the delivery gives.
int64_t CountDelivered(const sidecar::Delivery& delivery, int64_t first, int64_t last) {
  if (delivery.settled.empty()) return last - first;
  int64_t count = 0;
  for (int64_t seq = first; seq < last; ++seq) count += delivery.Delivers(seq) ? 1 : 0;
  return count;
}

// The totals of the queue that is named now; neighbours mostly name the same one.
class LastQueue {
 public:
  explicit LastQueue(state::QueueActivity& activity) : activity_(activity) {}

  QueueTotals& Of(std::string_view queue) {
    if (totals_ == nullptr || queue != queue_) {
      totals_ = &activity_.Of(queue);
      queue_ = queue;
    }
    return *totals_;
  }

 private:
  state::QueueActivity& activity_;
  std::string_view queue_;
  QueueTotals* totals_ = nullptr;
};

}  // namespace

// ---- push

void ObservedEngine::Push(sidecar::PushRequest request) {
  request.done = [this, begun = SteadyMicros(), done = std::move(request.done)](
                     sidecar::PushRequest& answered,
                     Result<std::vector<PushOutcome>> result) mutable {
    OnPushed(answered, begun, result);
    done(answered, std::move(result));
  };
  engine_.Push(std::move(request));
}

void ObservedEngine::OnPushed(const sidecar::PushRequest& request, int64_t begun,
                              const Result<std::vector<PushOutcome>>& result) {
  if (!result.ok()) return operations_.Failed(Operation::kPush, result.status().code());
  LastQueue queue(activity_);
  size_t failed = 0;
  for (size_t i = 0; i < result->size(); ++i) {
    const sidecar::PushItem& item = request.items[i];
    const auto bytes = static_cast<int64_t>(item.payload.size());
    switch ((*result)[i].status) {
      case PushOutcome::Status::kQueued:
        ++queue.Of(item.queue).pushed;
        queue.Of(item.queue).push_bytes += bytes;
        break;
      case PushOutcome::Status::kBuffered:
        ++queue.Of(item.queue).buffered;
        queue.Of(item.queue).push_bytes += bytes;
        break;
      case PushOutcome::Status::kDuplicate:
        ++queue.Of(item.queue).duplicates;
        break;
      case PushOutcome::Status::kFailed:
        ++failed;
        break;
    }
  }
  operations_.Answered(Operation::kPush, result->size(), SteadyMicros() - begun);
  operations_.ItemsFailed(Operation::kPush, failed);
}

// ---- pop

sidecar::CancelPop ObservedEngine::Pop(sidecar::PopRequest request, sidecar::PopDone done) {
  sidecar::PopDone observed = [this, begun = SteadyMicros(), auto_ack = request.auto_ack,
                               queue = request.queue,
                               done = std::move(done)](Result<sidecar::PopResult> result) mutable {
    OnPopped(queue, auto_ack, begun, result);
    done(std::move(result));
  };
  return engine_.Pop(std::move(request), std::move(observed));
}

void ObservedEngine::OnPopped(const std::string& queue, bool auto_ack, int64_t begun,
                              const Result<sidecar::PopResult>& result) {
  if (!result.ok()) return operations_.Failed(Operation::kPop, result.status().code());
  int64_t messages = 0;
  for (const sidecar::Delivery& delivery : result->deliveries) {
    messages += CountDelivery(delivery, auto_ack);
  }
  // The deliveries of one result are of one queue. A pop of a family that found nothing has none.
  if (!result->deliveries.empty()) {
    ++activity_.Of(result->deliveries.front().queue_name).pops;
  } else if (!queue.empty()) {
    QueueTotals& totals = activity_.OfAsked(queue);
    ++totals.pops;
    ++totals.empty_pops;
  }
  const int64_t micros = SteadyMicros() - begun;
  if (result->parked) {
    operations_.AnsweredAfterWait(static_cast<size_t>(messages), micros);
  } else {
    operations_.Answered(Operation::kPop, static_cast<size_t>(messages), micros);
  }
}

// Returns how many messages it gives. The messages of one segment are of one age, to the
// millisecond.
int64_t ObservedEngine::CountDelivery(const sidecar::Delivery& delivery, bool auto_ack) {
  QueueTotals& totals = activity_.Of(delivery.queue_name);
  const int64_t now = WallMicros();
  int64_t messages = 0;
  for (const storage::SegmentPtr& segment : delivery.segments) {
    const int64_t first = std::max(segment->base_seq, delivery.cursor);
    const int64_t last = std::min(segment->end_seq(), delivery.end);
    if (first >= last) continue;
    const int64_t count = CountDelivered(delivery, first, last);
    const int64_t age_ms = std::max<int64_t>(now - segment->CreatedMicros(first), 0) / 1'000;
    messages += count;
    totals.age_sum_ms += count * age_ms;
    if (count > 0) totals.age_max_ms = std::max(totals.age_max_ms, age_ms);
  }
  totals.age_count += messages;
  totals.popped += messages;
  if (auto_ack) totals.acked += messages;
  return messages;
}

void ObservedEngine::GiveBack(std::string group, sidecar::PopResult result) {
  engine_.GiveBack(std::move(group), std::move(result));
}

// ---- ack

void ObservedEngine::Ack(sidecar::AckRequest request) {
  request.done = [this, begun = SteadyMicros(), done = std::move(request.done)](
                     sidecar::AckRequest& answered,
                     Result<std::vector<sidecar::AckOutcome>> result) mutable {
    OnAcked(answered, begun, result);
    done(answered, std::move(result));
  };
  engine_.Ack(std::move(request));
}

void ObservedEngine::OnAcked(const sidecar::AckRequest& request, int64_t begun,
                             const Result<std::vector<sidecar::AckOutcome>>& result) {
  if (!result.ok()) return operations_.Failed(Operation::kAck, result.status().code());
  LastQueue queue(activity_);
  size_t failed = 0;
  for (size_t i = 0; i < result->size(); ++i) {
    const sidecar::AckOutcome& outcome = (*result)[i];
    if (outcome.success) {
      CountVerdict(queue.Of(outcome.queue_name), request.items[i].verdict, outcome.dead_lettered,
                   1);
    } else {
      ++failed;
    }
  }
  operations_.Answered(Operation::kAck, result->size(), SteadyMicros() - begun);
  operations_.ItemsFailed(Operation::kAck, failed);
}

void ObservedEngine::CountVerdict(QueueTotals& totals, Verdict verdict, bool dead_lettered,
                                  int64_t messages) {
  switch (verdict) {
    case Verdict::kCompleted:
      totals.acked += messages;
      break;
    case Verdict::kFailed:
      totals.failed += messages;
      break;
    case Verdict::kDeadLetter:
      break;
    case Verdict::kRetry:
      totals.retried += messages;
      break;
  }
  // Not by the verdict: one that is repeated makes no other dead letter.
  if (dead_lettered) totals.dead_lettered += messages;
}

// ---- transaction

void ObservedEngine::Transaction(sidecar::TransactionRequest request) {
  request.done = [this, begun = SteadyMicros(), done = std::move(request.done)](
                     sidecar::TransactionRequest& answered,
                     Result<sidecar::TransactionResult> result) mutable {
    OnTransaction(answered, begun, result);
    done(answered, std::move(result));
  };
  engine_.Transaction(std::move(request));
}

void ObservedEngine::OnTransaction(const sidecar::TransactionRequest& request, int64_t begun,
                                   const Result<sidecar::TransactionResult>& result) {
  const Operation operation = request.cycle ? Operation::kStreamCycle : Operation::kTransaction;
  if (!result.ok()) return operations_.Failed(operation, result.status().code());
  if (!result->refusal.ok()) return operations_.Failed(operation, result->refusal.code());
  LastQueue queue(activity_);
  for (const sidecar::PushItem& item : request.pushes) {
    QueueTotals& totals = queue.Of(item.queue);
    ++totals.pushed;
    totals.push_bytes += static_cast<int64_t>(item.payload.size());
  }
  for (size_t i = 0; i < request.acks.size(); ++i) {
    const sidecar::AckItem& ack = request.acks[i].item;
    const bool dead_lettered = i < result->dead_lettered.size() && result->dead_lettered[i];
    if (request.cycle) {
      CountVerdict(activity_.Of(result->cycle.queue_name), ack.verdict, dead_lettered,
                   result->cycle.settled);
    } else {
      const std::string name = ack.partition ? delivered_.QueueOf(*ack.partition) : "";
      CountVerdict(activity_.Of(name), ack.verdict, dead_lettered, 1);
    }
  }
  operations_.Answered(operation, request.pushes.size() + request.acks.size(),
                       SteadyMicros() - begun);
}

// ---- the rest

template <typename Value>
UniqueFunction<void(Result<Value>)> ObservedEngine::Timed(
    Operation operation, UniqueFunction<void(Result<Value>)> done) {
  return [this, operation, begun = SteadyMicros(),
          done = std::move(done)](Result<Value> result) mutable {
    if (result.ok()) {
      operations_.Answered(operation, 1, SteadyMicros() - begun);
    } else {
      operations_.Failed(operation, result.status().code());
    }
    done(std::move(result));
  };
}

void ObservedEngine::RegisterStreamQuery(sidecar::StreamQueryRequest request,
                                         sidecar::StreamQueryDone done) {
  engine_.RegisterStreamQuery(std::move(request), Timed(Operation::kStreamQuery, std::move(done)));
}

void ObservedEngine::GetStreamState(sidecar::StreamStateRequest request,
                                    sidecar::StreamStateDone done) {
  engine_.GetStreamState(std::move(request), Timed(Operation::kStreamState, std::move(done)));
}

void ObservedEngine::Renew(sidecar::RenewRequest request, sidecar::RenewDone done) {
  engine_.Renew(request, Timed(Operation::kRenewLease, std::move(done)));
}

void ObservedEngine::QueueChanged(const std::optional<std::string>& queue) {
  engine_.QueueChanged(queue);
}

}  // namespace queen::observe
