#include "simulator/simulation.h"

#include <algorithm>
#include <cmath>

#include "simulator/admin.h"
#include "simulator/consumer.h"
#include "simulator/producer.h"

namespace queen::simulator {
namespace {

constexpr int64_t kBegin = 1'700'000'000'000'000;
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kWatchMicros = 200'000;
constexpr uint64_t kCrashBehindLeaseOneIn = 300;

}  // namespace

Simulation::Simulation(const Plan& plan, bool print_all)
    : plan_(plan),
      random_(plan.seed ^ 0x5DEECE66DULL),
      time_(kBegin),
      timeline_(time_, plan.seed),
      history_(time_, plan.seed, plan.partitions.size()),
      truth_(time_, history_, plan.partitions, plan.retry_limit),
      database_(time_, plan.database),
      observer_(database_),
      wire_(time_, random_, [this](int64_t number) { return Find(number); }) {
  if (print_all) history_.PrintAll();
}

Simulation::~Simulation() = default;

// ---- brokers

Broker* Simulation::Find(int64_t number) const {
  const auto found = std::find_if(brokers_.begin(), brokers_.end(),
                                  [&](const auto& broker) { return broker->number() == number; });
  return found == brokers_.end() ? nullptr : found->get();
}

Broker& Simulation::AnyBroker() { return *brokers_[Draw(brokers_.size())]; }

Wire::Address Simulation::AnyAddress() {
  Broker& broker = AnyBroker();
  return {broker.number(), Draw(broker.workers())};
}

void Simulation::StartBroker() {
  const int64_t number = ++brokers_made_;
  history_.Note(History::kNowhere, "broker {} starts", number);
  brokers_.push_back(std::make_unique<Broker>(
      time_, database_, random_, number, plan_.broker,
      [this, number](Peers::Tell tell) { Tell(number, std::move(tell)); }));
}

void Simulation::Tell(int64_t from, Peers::Tell tell) {
  for (const auto& broker : brokers_) {
    if (broker->number() == from) continue;
    if (Draw(100) < static_cast<uint64_t>(plan_.weather.hint_loss_percent)) continue;
    time_.After(static_cast<int64_t>(50 + Draw(2'000)), [this, to = broker->number(), tell] {
      if (Broker* const alive = Find(to)) tell(alive->shards());
    });
  }
}

// There is always one left: where there was one only, the next has started before.
void Simulation::KillBroker() {
  if (brokers_.size() == 1) StartBroker();
  const size_t place = Draw(brokers_.size() - 1);
  const int64_t number = brokers_[place]->number();
  history_.Note(History::kNowhere, "broker {} dies", number);
  brokers_.erase(brokers_.begin() + static_cast<int64_t>(place));
  wire_.OnBrokerDied(number);
  if (brokers_.size() >= static_cast<size_t>(plan_.brokers)) return;
  time_.After(static_cast<int64_t>(Draw(2 * kSecond)), [this] { StartBroker(); });
}

// ---- weather

void Simulation::Repeat(int64_t every, void (Simulation::*happen)()) {
  if (every == 0) return;
  const double unit = (static_cast<double>(Draw(1'000'000)) + 1) / 1'000'001;
  const auto pause = static_cast<int64_t>(-std::log(unit) * static_cast<double>(every));
  time_.After(pause, [this, every, happen] {
    if (draining_) return;
    (this->*happen)();
    Repeat(every, happen);
  });
}

void Simulation::CutOne() {
  Broker& broker = AnyBroker();
  const size_t worker = Draw(broker.workers());
  history_.Note(History::kNowhere, "a connection of broker {} worker {} is cut", broker.number(),
                worker);
  broker.slots(worker).Cut(random_());
}

void Simulation::MuteOne() {
  Broker& broker = AnyBroker();
  const size_t worker = Draw(broker.workers());
  history_.Note(History::kNowhere, "a connection of broker {} worker {} is mute", broker.number(),
                worker);
  broker.slots(worker).Mute(random_());
}

void Simulation::StallOne() {
  Broker& broker = AnyBroker();
  const auto micros = static_cast<int64_t>(Draw(OneIn(10) ? 1'500'000 : 50'000));
  stalled_until_ = std::max(stalled_until_, Now() + micros);
  Timeline::Stall(broker.loop(Draw(broker.workers())), micros);
}

// What a lease has just told was committed asynchronously, and is forgotten.
void Simulation::OnLeaseHeard() {
  if (draining_ || plan_.weather.crash_every == 0 || !OneIn(kCrashBehindLeaseOneIn)) return;
  time_.After(static_cast<int64_t>(Draw(300)), [this] { Crash(); });
}

void Simulation::Crash() {
  if (draining_ || !database_.up()) return;
  truth_.OnCrash();
  disturbed_at_ = Now();
  database_.Crash(static_cast<int64_t>(50'000 + Draw(1'500'000)));
}

void Simulation::JumpClocks() {
  const int64_t jump = static_cast<int64_t>(Draw(4 * kSecond)) - 2 * kSecond;
  history_.Note(History::kNowhere, "a clock jumps by {} ms", jump / 1000);
  AnyBroker().SetWallOffset(jump * 100);
}

void Simulation::SlowDown() {
  const auto micros = static_cast<int64_t>(Draw(OneIn(2) ? 2'500'000 : 500'000));
  const bool whole = OneIn(2);
  history_.Note(History::kNowhere, "PostgreSQL {} for {} ms",
                whole ? "stands still" : "cannot flush", micros / 1000);
  stalled_until_ = std::max(stalled_until_, Now() + micros);
  database_.Stall(micros, whole);
}

// ---- liveness

int64_t Simulation::QuietSince(int64_t number) const {
  const Broker* const broker = Find(number);
  if (broker == nullptr || !database_.up()) return INT64_MAX;
  return std::max({broker->whole_since(), disturbed_at_, stalled_until_});
}

void Simulation::Watch() {
  std::map<std::pair<std::string, int32_t>, Ready> ready;
  for (const std::string& queue : plan_.queues) {
    for (const std::string& group : plan_.groups) {
      for (const LaneView& lane : observer_.Lanes(queue, group)) {
        if (!lane.ready) continue;
        const auto before = ready_.find({group, lane.partition_id});
        const bool same = before != ready_.end() && before->second.epoch == lane.epoch;
        const int64_t since = same ? before->second.since : Now();
        ready[{group, lane.partition_id}] = {lane.epoch, since};
        for (const auto& consumer : consumers_) {
          const bool waits = consumer->waits_since() > 0 && consumer->queue() == queue &&
                             consumer->group() == group &&
                             consumer->waits_for().value_or(lane.partition) == lane.partition;
          if (!waits) continue;
          const int64_t quiet = QuietSince(consumer->waits_at());
          if (quiet == INT64_MAX) continue;
          const int64_t beside = Now() - std::max({since, consumer->waits_since(), quiet});
          if (beside < plan_.patience_micros) continue;
          history_.Fail(truth_.PartitionOf(queue, lane.partition),
                        fmt::format("liveness: a pop of {} at broker {} waits beside {} {}, ready "
                                    "for {} ms (epoch {}, cursor {}, end {})",
                                    group, consumer->waits_at(), queue, lane.partition,
                                    beside / 1000, lane.epoch, lane.cursor, lane.end));
        }
      }
    }
  }
  ready_ = std::move(ready);
  time_.After(kWatchMicros, [this] { Watch(); });
}

// ---- the end

bool Simulation::Drained() {
  for (const std::string& queue : plan_.queues) {
    for (const std::string& group : plan_.groups) {
      if (observer_.LacksGroup(queue, group)) return false;
      for (const LaneView& lane : observer_.Lanes(queue, group)) {
        if (lane.open) return false;
      }
    }
  }
  return true;
}

void Simulation::CheckEnd() {
  for (size_t i = 0; i < plan_.partitions.size(); ++i) {
    const PartitionName& partition = plan_.partitions[i];
    truth_.CheckLog(static_cast<int>(i), observer_.Log(partition.queue, partition.name));
  }
  truth_.CheckBundles();
  const std::set<std::string> queues(plan_.queues.begin(), plan_.queues.end());
  for (const std::string& group : plan_.groups) truth_.CheckAllSettled(group, queues);
}

Summary Simulation::Run() {
  for (int i = 0; i < plan_.brokers; ++i) StartBroker();
  for (int i = 0; i < plan_.producers; ++i) {
    producers_.push_back(std::make_unique<Producer>(*this, i));
    producers_.back()->Start();
  }
  for (const std::string& queue : plan_.queues) {
    for (const std::string& group : plan_.groups) {
      for (int i = 0; i < plan_.consumers_each; ++i) {
        const bool auto_ack = group == plan_.groups.back();
        const bool patient = i > 0;
        consumers_.push_back(std::make_unique<Consumer>(*this, queue, group, auto_ack, patient));
        consumers_.back()->Start();
      }
    }
  }
  if (plan_.admin_micros > 0) {
    admin_ = std::make_unique<Admin>(*this);
    admin_->Start();
  }
  Repeat(plan_.weather.cut_every, &Simulation::CutOne);
  Repeat(plan_.weather.mute_every, &Simulation::MuteOne);
  Repeat(plan_.weather.stall_every, &Simulation::StallOne);
  Repeat(plan_.weather.crash_every, &Simulation::Crash);
  Repeat(plan_.weather.kill_every, &Simulation::KillBroker);
  Repeat(plan_.weather.jump_every, &Simulation::JumpClocks);
  Repeat(plan_.weather.slow_every, &Simulation::SlowDown);
  Watch();

  Summary summary;
  const int64_t drain_at = Now() + plan_.seconds * kSecond;
  const int64_t end_at = drain_at + plan_.drain_seconds * kSecond;
  int64_t look_at = drain_at;
  while (time_.RunNext()) {
    if (++summary.steps > plan_.steps_max) {
      history_.Fail(History::kNowhere, "the world does not come to its end in steps");
    }
    if (Now() < look_at) continue;
    draining_ = true;
    look_at = Now() + kSecond;
    // Producers repeat, and strays arrive, for a while.
    if (Now() > drain_at + 5 * kSecond && Drained()) break;
    if (Now() > end_at) history_.Fail(History::kNowhere, "liveness: not everything is consumed");
  }
  CheckEnd();
  summary.operations = wire_.calls();
  summary.queued = truth_.queued();
  summary.delivered = truth_.delivered();
  summary.hash = history_.hash();
  return summary;
}

}  // namespace queen::simulator
