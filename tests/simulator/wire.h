// Wire: the calls of clients to brokers. A request takes time to arrive at a worker and its answer
// time to come back; a client whose broker dies hears that its connection was lost, and does not
// know what became of its call. What the HTTP server does for a pop whose client leaves is done
// here (api/pop.cc).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "sidecar/requests.h"
#include "simulator/broker.h"

namespace queen::simulator {

class Wire {
 public:
  // Nothing: the connection was lost.
  template <typename Answer>
  using Done = UniqueFunction<void(std::optional<Result<Answer>>)>;

  // `find` gives the broker with that number, or nullptr when it has died.
  Wire(Scheduler& time, std::mt19937_64& random, std::function<Broker*(int64_t)> find)
      : time_(time), random_(random), find_(std::move(find)) {}

  struct Address {
    int64_t broker = 0;
    size_t worker = 0;
  };

  void Push(Address to, sidecar::PushRequest request, Done<std::vector<sidecar::PushOutcome>> done);
  // A pop that may be left: no answer comes then.
  class PopHandle;
  std::shared_ptr<PopHandle> Pop(Address to, sidecar::PopRequest request,
                                 Done<sidecar::PopResult> done);
  void Leave(const std::shared_ptr<PopHandle>& pop);
  void Ack(Address to, sidecar::AckRequest request, Done<std::vector<sidecar::AckOutcome>> done);
  void Renew(Address to, sidecar::RenewRequest request, Done<sidecar::RenewResult> done);
  void Transaction(Address to, sidecar::TransactionRequest request,
                   Done<sidecar::TransactionResult> done);

  void QueueChanged(Address to, std::string queue);

  void OnBrokerDied(int64_t broker);

  int64_t calls() const { return calls_; }

 private:
  static constexpr uint64_t kWayMicros = 300;
  static constexpr uint64_t kSlowWayMicros = 30'000;
  static constexpr uint64_t kSlowOneIn = 50;

  template <typename Answer>
  struct Call {
    int64_t broker = 0;
    uint64_t id = 0;
    Done<Answer> done;
  };

  template <typename Answer>
  std::shared_ptr<Call<Answer>> Begin(int64_t broker, Done<Answer> done);
  // Brings the answer to the client.
  template <typename Answer>
  UniqueFunction<void(Result<Answer>)> AnswerTo(std::shared_ptr<Call<Answer>> call);
  void Send(Address to, UniqueFunction<void(sidecar::Engine&)> task);
  int64_t Way();

  Scheduler& time_;
  std::mt19937_64& random_;
  const std::function<Broker*(int64_t)> find_;
  uint64_t ids_ = 0;
  int64_t calls_ = 0;  // that were answered or lost
  std::map<int64_t, std::map<uint64_t, UniqueFunction<void()>>> open_;  // what to do when it dies
};

}  // namespace queen::simulator
