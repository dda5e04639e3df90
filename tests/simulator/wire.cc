#include "simulator/wire.h"

namespace queen::simulator {

// Seen by both sides, each at its own time.
class Wire::PopHandle {
 public:
  Address to;
  std::string group;
  std::shared_ptr<Call<sidecar::PopResult>> call;
  sidecar::CancelPop cancel;  // on the worker, while it is open
  bool gone = false;          // the worker has heard that the client has left
};

int64_t Wire::Way() {
  const uint64_t max = random_() % kSlowOneIn == 0 ? kSlowWayMicros : kWayMicros;
  return static_cast<int64_t>(20 + random_() % max);
}

template <typename Answer>
std::shared_ptr<Wire::Call<Answer>> Wire::Begin(int64_t broker, Done<Answer> done) {
  auto call = std::make_shared<Call<Answer>>();
  call->broker = broker;
  call->id = ++ids_;
  call->done = std::move(done);
  open_[broker][call->id] = [this, call] {
    ++calls_;
    if (call->done) std::exchange(call->done, nullptr)(std::nullopt);
  };
  return call;
}

template <typename Answer>
UniqueFunction<void(Result<Answer>)> Wire::AnswerTo(std::shared_ptr<Call<Answer>> call) {
  return [this, call = std::move(call)](Result<Answer> answer) {
    const auto broker = open_.find(call->broker);
    if (broker == open_.end() || broker->second.erase(call->id) == 0) return;
    time_.After(Way(), [this, call, answer = std::move(answer)]() mutable {
      ++calls_;
      if (call->done) std::exchange(call->done, nullptr)(std::move(answer));
    });
  };
}

void Wire::Send(Address to, UniqueFunction<void(sidecar::Engine&)> task) {
  time_.After(Way(), [this, to, task = std::move(task)]() mutable {
    Broker* const broker = find_(to.broker);
    if (broker == nullptr) return OnBrokerDied(to.broker);
    broker->loop(to.worker).Post(
        [engine = &broker->engine(to.worker), task = std::move(task)]() mutable { task(*engine); });
  });
}

void Wire::OnBrokerDied(int64_t broker) {
  const auto found = open_.find(broker);
  if (found == open_.end()) return;
  auto calls = std::move(found->second);
  open_.erase(found);
  for (auto& [id, lost] : calls) time_.After(Way(), std::move(lost));
}

void Wire::Push(Address to, sidecar::PushRequest request,
                Done<std::vector<sidecar::PushOutcome>> done) {
  auto call = Begin<std::vector<sidecar::PushOutcome>>(to.broker, std::move(done));
  request.done = [answer = AnswerTo(call)](
                     sidecar::PushRequest&,
                     Result<std::vector<sidecar::PushOutcome>> outcomes) mutable {
    answer(std::move(outcomes));
  };
  Send(to, [request = std::move(request)](sidecar::Engine& engine) mutable {
    engine.Push(std::move(request));
  });
}

std::shared_ptr<Wire::PopHandle> Wire::Pop(Address to, sidecar::PopRequest request,
                                           Done<sidecar::PopResult> done) {
  auto pop = std::make_shared<PopHandle>();
  pop->to = to;
  pop->group = request.group;
  pop->call = Begin<sidecar::PopResult>(to.broker, std::move(done));
  Send(to, [pop, request = std::move(request),
            answer = AnswerTo(pop->call)](sidecar::Engine& engine) mutable {
    if (pop->gone) return;
    auto answered = std::make_shared<bool>(false);
    sidecar::CancelPop cancel =
        engine.Pop(std::move(request), [pop, answered, &engine, answer = std::move(answer)](
                                           Result<sidecar::PopResult> result) mutable {
          *answered = true;
          pop->cancel = nullptr;
          if (pop->gone && result.ok() && result->leased) {
            engine.GiveBack(pop->group, std::exchange(*result, sidecar::PopResult{}));
          }
          answer(std::move(result));
        });
    if (!*answered) pop->cancel = std::move(cancel);
  });
  return pop;
}

void Wire::Leave(const std::shared_ptr<PopHandle>& pop) {
  pop->call->done = nullptr;
  Send(pop->to, [pop](sidecar::Engine&) {
    pop->gone = true;
    if (pop->cancel) std::exchange(pop->cancel, nullptr)();
  });
}

void Wire::Ack(Address to, sidecar::AckRequest request,
               Done<std::vector<sidecar::AckOutcome>> done) {
  auto call = Begin<std::vector<sidecar::AckOutcome>>(to.broker, std::move(done));
  request.done = [answer = AnswerTo(call)](
                     sidecar::AckRequest&,
                     Result<std::vector<sidecar::AckOutcome>> outcomes) mutable {
    answer(std::move(outcomes));
  };
  Send(to, [request = std::move(request)](sidecar::Engine& engine) mutable {
    engine.Ack(std::move(request));
  });
}

void Wire::Renew(Address to, sidecar::RenewRequest request, Done<sidecar::RenewResult> done) {
  auto call = Begin<sidecar::RenewResult>(to.broker, std::move(done));
  Send(to, [request, answer = AnswerTo(call)](sidecar::Engine& engine) mutable {
    engine.Renew(request, std::move(answer));
  });
}

void Wire::QueueChanged(Address to, std::string queue) {
  Send(to, [queue = std::move(queue)](sidecar::Engine& engine) { engine.QueueChanged(queue); });
}

void Wire::Transaction(Address to, sidecar::TransactionRequest request,
                       Done<sidecar::TransactionResult> done) {
  auto call = Begin<sidecar::TransactionResult>(to.broker, std::move(done));
  request.done = [answer = AnswerTo(call)](sidecar::TransactionRequest&,
                                           Result<sidecar::TransactionResult> result) mutable {
    answer(std::move(result));
  };
  Send(to, [request = std::move(request)](sidecar::Engine& engine) mutable {
    engine.Transaction(std::move(request));
  });
}

}  // namespace queen::simulator
