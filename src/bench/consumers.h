// Consumers: the connections that pop and ack a workload, one request at a time each:
//
//   pop (long poll) ---> messages: told to the ledger, acked in one call ---> pop ...
//        ^------- 204 -------+
//
// An error is counted and followed by a pause. Connections are dealt to the groups in turn.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/stats.h"
#include "bench/workload.h"

namespace queen::bench {

struct Delivered;

class Consumers {
 public:
  struct Shape {
    int64_t connections = 1;
    int64_t batch = 1;
    int64_t partitions_per_pop = 1;
    int64_t groups = 1;  // 1: no group is named
    int64_t wait_ms = 1'000;
  };

  // What is measured; reset by the scenario when its measurement begins.
  struct Meters {
    Stats cycle;  // a pop that got messages, and its ack
    Stats pop;    // a pop that got messages
    Stats ack;
    Stats delivery;  // per message: from when it should have been sent to its receipt
    void Reset();
  };

  Consumers(Workload& workload, const Shape& shape);
  ~Consumers();

  // Connects all; false when that fails, which is then recorded as an error.
  bool Open();

  // Begins to pop, until Stop or until so many pops got messages.
  void Start(uint64_t pops = std::numeric_limits<uint64_t>::max());
  // No more pops. Those that wait are waited for (up to wait_ms): giving them up could lose what
  // they are just being given.
  void Stop() { running_ = false; }
  // No pop waits and no ack is in flight.
  bool idle() const { return busy_ == 0; }
  // No ack is in flight.
  bool acked() const { return acking_ == 0; }

  Meters& meters() { return meters_; }
  // Runs after the messages of a pop were told to the ledger.
  void OnReceipt(std::function<void()> callback) { on_receipt_ = std::move(callback); }

  // Pops what is left for each group, without waiting, until nothing comes: after a complete
  // drain whatever does is a duplicate. REQUIRES: idle()
  void SweepExtras();

 private:
  class Consumer;

  std::string PopPath(int64_t group, bool wait) const;
  void Receive(int64_t group, const std::vector<Delivered>& messages);

  Workload& workload_;
  const Shape shape_;
  Meters meters_;
  std::function<void()> on_receipt_;
  bool running_ = false;
  uint64_t pops_left_ = 0;
  int busy_ = 0;
  int acking_ = 0;
  std::vector<std::unique_ptr<Consumer>> consumers_;
};

}  // namespace queen::bench
