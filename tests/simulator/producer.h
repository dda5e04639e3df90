// Producer: pushes to some partitions, one call after the other, and repeats what has an unknown
// end where a transactionId makes that safe.
#pragma once

#include <string>
#include <vector>

#include "sidecar/requests.h"
#include "simulator/simulation.h"

namespace queen::simulator {

// A push of these messages.
sidecar::PushRequest PushOf(const Truth& truth, const std::vector<int>& messages);

class Producer {
 public:
  Producer(Simulation& world, int number) : world_(world), number_(number) {}

  void Start() { NextSoon(); }

 private:
  static constexpr int kRepeatsMax = 6;

  void NextSoon();
  void Next();
  int MakeOne();
  void Send(std::vector<int> messages, int repeats);
  void OnAnswer(const std::vector<int>& messages, int64_t sent_at, int repeats,
                std::optional<Result<std::vector<sidecar::PushOutcome>>> answer);

  Simulation& world_;
  const int number_;
  int64_t keys_made_ = 0;
  std::vector<int> used_;  // some messages with transactionIds that may be used again
};

}  // namespace queen::simulator
