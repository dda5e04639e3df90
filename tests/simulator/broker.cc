#include "simulator/broker.h"

#include <algorithm>
#include <string>

#include "simulator/timeline.h"

namespace queen::simulator {

void Peers::Pushed(std::string_view queue, std::string_view partition, PartitionId id,
                   const std::vector<std::string_view>&) {
  send_([queue = std::string(queue), partition = std::string(partition),
         id](const sidecar::Shards& shards) {
    const sidecar::Shards::Shard& owner = shards.shards[shards.OwnerOfQueue(queue)];
    owner.loop->Post([sidecar = owner.sidecar, queue, partition, id] {
      sidecar->pop().OnPushed(queue, partition, id, {}, true);
    });
  });
}

void Peers::Freed(std::string_view queue, std::string_view partition, PartitionId id,
                  std::string_view group) {
  send_([queue = std::string(queue), partition = std::string(partition), id,
         group = std::string(group)](const sidecar::Shards& shards) {
    const sidecar::Shards::Shard& owner = shards.shards[shards.OwnerOfQueue(queue)];
    owner.loop->Post([sidecar = owner.sidecar, queue, partition, id, group] {
      sidecar->pop().OnFreed(queue, partition, id, group, {}, true);
    });
  });
}

void Peers::QueueChanged(std::string_view) {
  send_([](const sidecar::Shards& shards) {
    for (const sidecar::Shards::Shard& shard : shards.shards) {
      shard.loop->Post([sidecar = shard.sidecar] { sidecar->pop().AskNews(); });
    }
  });
}

Broker::Broker(Scheduler& time, Database& database, std::mt19937_64& random, int64_t number,
               const BrokerOptions& options, std::function<void(Peers::Tell)> send)
    : number_(number), peers_(std::move(send)), cipher_({}) {
  constexpr int64_t kNamesEach = 100;
  sidecar::SidecarOptions sidecar;
  sidecar.slots = options.slots;
  sidecar.own = {number * kNamesEach + 1, number * kNamesEach + options.workers};
  sidecar.pop.check = options.check;
  sidecar.lanes_max = options.lanes_max;
  sidecar.generation = &generation_;
  sidecar.room = &room_;
  if (options.has_peers) {
    sidecar.peers = &peers_;
    shards_.peers = &peers_;
  }
  shards_.maintenance = &maintenance_;
  shards_.shards.resize(static_cast<size_t>(options.workers));
  for (int i = 0; i < options.workers; ++i) {
    sidecar.broker = sidecar.own.first + i;
    workers_.push_back(std::make_unique<Worker>("worker " + std::to_string(i)));
    Worker& worker = *workers_.back();
    Timeline::RunOn(worker.loop, [&] {
      auto slots =
          std::make_unique<VirtualSlots>(worker.loop, time, database, random, options.slots);
      worker.slots = slots.get();
      worker.notices = std::make_unique<sidecar::ShardNotices>(shards_, worker.loop);
      worker.sidecar = std::make_unique<sidecar::Sidecar>(
          worker.loop, std::move(slots), sidecar, delivered_, capacity_, cipher_, *worker.notices);
      worker.engine = std::make_unique<sidecar::EngineRouter>(shards_, worker.loop, delivered_);
      worker.families =
          std::make_unique<sidecar::FamilyPops>(worker.loop, *worker.engine, *worker.sidecar);
      shards_.shards[static_cast<size_t>(i)] = {&worker.loop, worker.sidecar.get(),
                                                worker.families.get(), nullptr};
    });
  }
  for (const auto& worker : workers_) {
    Timeline::RunOn(worker->loop, [&] { worker->sidecar->Start(); });
  }
}

Broker::~Broker() {
  for (const auto& worker : workers_) Timeline::Kill(worker->loop);
  for (const auto& worker : workers_) {
    Timeline::RunOn(worker->loop, [&] {
      worker->families.reset();
      worker->engine.reset();
      worker->sidecar.reset();
      worker->notices.reset();
    });
  }
}

int64_t Broker::whole_since() const {
  int64_t since = 0;
  for (const auto& worker : workers_) since = std::max(since, worker->slots->whole_since());
  return since;
}

void Broker::SetWallOffset(int64_t micros) {
  for (const auto& worker : workers_) Timeline::SetWallOffset(worker->loop, micros);
}

}  // namespace queen::simulator
