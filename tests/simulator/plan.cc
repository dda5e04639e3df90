#include "simulator/plan.h"

#include <fmt/format.h>

#include <random>

namespace queen::simulator {
namespace {

constexpr int64_t kSecond = 1'000'000;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  // In [low, high].
  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  uint64_t Seed() { return random_(); }

 private:
  std::mt19937_64 random_;
};

WeatherPlan DrawWeather(Weather weather, Draw& draw) {
  WeatherPlan plan;
  plan.hint_loss_percent = draw.Between(0, 60);
  if (draw.OneIn(3)) plan.slow_every = draw.Between(1, 4) * kSecond;
  if (weather == Weather::kCalm) return plan;
  const int64_t often = weather == Weather::kBumpy ? 4 : 1;
  plan.cut_every = often * draw.Between(200'000, 2'000'000);
  plan.mute_every = often * draw.Between(2, 6) * kSecond;
  plan.stall_every = often * draw.Between(100'000, 1'000'000);
  if (weather == Weather::kBumpy && draw.OneIn(2)) return plan;
  plan.crash_every = often * draw.Between(2, 8) * kSecond;
  plan.kill_every = often * draw.Between(1, 6) * kSecond;
  plan.jump_every = often * draw.Between(2, 6) * kSecond;
  return plan;
}

}  // namespace

Plan MakePlan(const PlanOptions& options) {
  Draw draw(options.seed);
  Plan plan;
  plan.seed = options.seed;
  plan.brokers = draw.Between(1, 3);
  if (options.brokers) plan.brokers = *options.brokers;
  plan.broker.workers = draw.Between(1, 3);
  plan.broker.slots = draw.Between(2, 4);
  plan.broker.has_peers = plan.brokers > 1 && draw.Between(1, 4) > 1;
  plan.broker.lanes_max = draw.OneIn(3) ? 3 : 100'000;
  const int queues = draw.Between(1, 3);
  for (int q = 0; q < queues; ++q) {
    plan.queues.push_back(fmt::format("queue-{}", q));
    const int partitions = draw.Between(1, 5);
    for (int p = 0; p < partitions; ++p) {
      plan.partitions.push_back({plan.queues.back(), fmt::format("p{}", p)});
    }
  }
  for (int g = draw.Between(1, 2); g > 0; --g) plan.groups.push_back(fmt::format("group-{}", g));
  plan.groups.emplace_back("auto");
  plan.producers = draw.Between(1, 4);
  plan.consumers_each = draw.Between(2, 4);
  // A lease that outlasts the patience with who waits: nothing is found again by its end.
  plan.lease_seconds = draw.OneIn(3) ? draw.Between(15, 30) : draw.Between(1, 3);
  plan.leaving = draw.Between(1, 3) > 1;
  plan.pause_micros = draw.Between(1, 40) * 1'000;
  plan.push_micros = plan.pause_micros;
  const int pace = draw.Between(1, 5);
  plan.pace = options.pace.value_or(pace <= 3   ? Pace::kBusy
                                    : pace == 4 ? Pace::kWaiting
                                                : Pace::kPolling);
  if (plan.pace != Pace::kBusy) plan.push_micros = draw.Between(100, 1'500) * 1'000;
  if (plan.pace == Pace::kPolling) plan.pause_micros = draw.Between(20, 300) * 1'000;

  if (draw.OneIn(2)) plan.admin_micros = draw.Between(200, 3'000) * 1'000;
  plan.transactions = draw.OneIn(2);

  const int sky = draw.Between(1, 10);
  const Weather weather = options.weather.value_or(sky <= 2   ? Weather::kCalm
                                                   : sky <= 7 ? Weather::kBumpy
                                                              : Weather::kStormy);
  plan.weather = DrawWeather(weather, draw);
  plan.patience_micros = options.patience_ms.value_or(4'000) * 1'000;
  if (options.check_ms) {
    plan.broker.check.max_ms = *options.check_ms;
    plan.broker.check.base_ms = *options.check_ms;
  }

  plan.database.seed = draw.Seed();
  plan.database.network_micros_max = draw.Between(50, 1'000);
  plan.database.statement_micros_max = draw.Between(50, 800);
  plan.database.flush_micros_min = 100;
  plan.database.flush_micros_max = draw.Between(300, 4'000);
  plan.database.stray_micros_max = draw.Between(1, 500) * 1'000;
  plan.database.transactions.pause_per_mille = draw.Between(0, 300);
  return plan;
}

std::string Plan::Describe() const {
  return fmt::format(
      "{} brokers of {} workers with {} slots{}, {} queues, {} partitions, {} groups, {} "
      "producers, "
      "{} consumers each, leases of {} s; cuts {} ms, mutes {} ms, crashes {} ms, kills {} ms",
      brokers, broker.workers, broker.slots, broker.has_peers ? " and peers" : "", queues.size(),
      partitions.size(), groups.size(), producers, consumers_each, lease_seconds,
      weather.cut_every / 1000, weather.mute_every / 1000, weather.crash_every / 1000,
      weather.kill_every / 1000);
}

}  // namespace queen::simulator
