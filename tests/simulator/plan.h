// Plan: what one simulation is made of, drawn from its seed: how many brokers, what they are used
// for, and the weather.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/broker.h"
#include "simulator/database/database.h"
#include "simulator/truth.h"

namespace queen::simulator {

enum class Weather { kCalm, kBumpy, kStormy };
// What clients do with their time. Where much is going on the next call of somebody hides what the
// one before has left behind.
enum class Pace {
  kBusy,     // calls follow each other closely
  kWaiting,  // pushes are seldom, and consumers wait for them
  kPolling,  // pushes are seldom, and consumers come by now and then
};

// What the command line fixes.
struct PlanOptions {
  uint64_t seed = 1;
  std::optional<Weather> weather;
  std::optional<Pace> pace;
  std::optional<int> brokers;
  std::optional<int64_t> check_ms;  // of waiting pops, at the longest
  std::optional<int64_t> patience_ms;
};

// How often something happens, on average, in virtual microseconds; 0: never.
struct WeatherPlan {
  int64_t cut_every = 0;
  int64_t mute_every = 0;
  int64_t stall_every = 0;
  int64_t crash_every = 0;
  int64_t kill_every = 0;
  int64_t jump_every = 0;
  int64_t slow_every = 0;  // PostgreSQL stands still for a moment
  int64_t hint_loss_percent = 0;
};

struct Plan {
  uint64_t seed = 1;
  int64_t seconds = 10;        // of use and weather; then everything is drained
  int64_t drain_seconds = 90;  // it must be by then
  int64_t steps_max = 40'000'000;
  int64_t patience_micros = 4'000'000;

  int brokers = 1;
  BrokerOptions broker;
  DatabaseOptions database;
  std::vector<PartitionName> partitions;
  std::vector<std::string> queues;
  std::vector<std::string> groups;  // of every queue; what the last one pops is acked at once
  int producers = 2;
  int consumers_each = 2;  // of every queue and group
  int32_t lease_seconds = 2;
  int32_t retry_limit = 3;
  Pace pace = Pace::kBusy;
  int64_t admin_micros = 0;       // between the calls of administration; 0: there are none
  bool transactions = false;      // consumers ack in transactions, too
  bool leaving = true;            // consumers may leave while they wait
  int64_t pause_micros = 10'000;  // between the calls of a consumer, at the longest
  int64_t push_micros = 10'000;   // ... and of a producer
  WeatherPlan weather;

  std::string Describe() const;
};

Plan MakePlan(const PlanOptions& options);

}  // namespace queen::simulator
