// Simulation: one world and its end. Brokers, a database and clients in virtual time; weather for a
// while; then everything must be consumed, and every message accounted for.
//
// Liveness is watched all the time: no pop stays parked for longer than the plan's patience beside
// a lane of its group that is ready, while its broker has had its connections. And a pop that does
// not wait is not answered that there is nothing beside a lane that was ready all the while.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "simulator/broker.h"
#include "simulator/database/database.h"
#include "simulator/history.h"
#include "simulator/observer.h"
#include "simulator/plan.h"
#include "simulator/timeline.h"
#include "simulator/truth.h"
#include "simulator/wire.h"

namespace queen::simulator {

class Admin;
class Producer;
class Consumer;

struct Summary {
  int64_t operations = 0;  // calls of clients that have ended
  int64_t steps = 0;       // events of virtual time
  int64_t queued = 0;
  int64_t delivered = 0;
  uint64_t hash = 0;
};

class Simulation {
 public:
  Simulation(const Plan& plan, bool print_all);
  ~Simulation();

  // Ends the process when a rule is broken (History::Fail).
  Summary Run();

  // ---- for the clients

  const Plan& plan() const { return plan_; }
  Scheduler& time() { return time_; }
  int64_t Now() const { return time_.NowMicros(); }
  Truth& truth() { return truth_; }
  Wire& wire() { return wire_; }
  History& history() { return history_; }
  Observer& observer() { return observer_; }
  Database& database() { return database_; }
  // Below `n`.
  uint64_t Draw(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Draw(n) == 0; }
  // Of a broker that runs; there is always one.
  Wire::Address AnyAddress();
  // No more pushes, and nothing is left lying on purpose.
  bool draining() const { return draining_; }
  // Administration has changed something: who waits may hear of it late.
  void OnAdministered() { disturbed_at_ = Now(); }
  // A client was just given messages under a lease.
  void OnLeaseHeard();
  // Since when this broker is whole and undisturbed; INT64_MAX: it is not.
  int64_t QuietSince(int64_t broker) const;

 private:
  void StartBroker();
  void KillBroker();
  Broker* Find(int64_t number) const;
  Broker& AnyBroker();
  void Repeat(int64_t every, void (Simulation::*happen)());
  void CutOne();
  void MuteOne();
  void StallOne();
  void Crash();
  void JumpClocks();
  void SlowDown();
  void Tell(int64_t from, Peers::Tell tell);
  void Watch();
  bool Drained();
  void CheckEnd();

  const Plan plan_;
  std::mt19937_64 random_;
  VirtualTime time_;
  Timeline timeline_;
  History history_;
  Truth truth_;
  Database database_;
  Observer observer_;
  Wire wire_;
  std::vector<std::unique_ptr<Broker>> brokers_;
  int64_t brokers_made_ = 0;
  std::unique_ptr<Admin> admin_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  bool draining_ = false;
  int64_t disturbed_at_ = 0;  // by something that all brokers notice late
  int64_t stalled_until_ = 0;

  struct Ready {
    int64_t epoch = 0;
    int64_t since = 0;
  };
  std::map<std::pair<std::string, int32_t>, Ready> ready_;  // by group and partition
};

}  // namespace queen::simulator
