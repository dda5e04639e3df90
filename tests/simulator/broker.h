// Broker: one process of the simulation: the real engine of several workers (EngineRouter, Sidecar,
// FamilyPops and all they have) on virtual loops and virtual slots. Destroying it is kill -9.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "sidecar/engine_router.h"
#include "sidecar/family_pops.h"
#include "simulator/virtual_slots.h"
#include "state/delivered_index.h"
#include "state/maintenance.h"
#include "state/queue_capacity.h"
#include "storage/payload_cipher.h"

namespace queen::simulator {

struct BrokerOptions {
  int workers = 1;
  int slots = 2;
  state::BackoffLimits check;  // of waiting pops
  size_t lanes_max = 100'000;
  bool has_peers = false;
};

// What one broker tells the others; `send(tell)` brings it to them, sooner, later or never.
class Peers final : public sidecar::PeerHints {
 public:
  using Tell = std::function<void(const sidecar::Shards&)>;
  explicit Peers(std::function<void(Tell)> send) : send_(std::move(send)) {}

  bool AnyoneThere() const override { return true; }
  bool AnyoneWaits() const override { return true; }
  void Pushed(std::string_view queue, std::string_view partition, PartitionId id,
              const std::vector<std::string_view>& served) override;
  void Freed(std::string_view queue, std::string_view partition, PartitionId id,
             std::string_view group) override;
  void Parked(std::string_view, std::string_view) override {}
  void QueueChanged(std::string_view queue) override;

 private:
  const std::function<void(Tell)> send_;
};

class Broker {
 public:
  // `number` is of this process and never used again. `send` is how it tells its peers.
  Broker(Scheduler& time, Database& database, std::mt19937_64& random, int64_t number,
         const BrokerOptions& options, std::function<void(Peers::Tell)> send);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  int64_t number() const { return number_; }
  size_t workers() const { return workers_.size(); }
  Loop& loop(size_t worker) { return workers_[worker]->loop; }
  VirtualSlots& slots(size_t worker) { return *workers_[worker]->slots; }
  sidecar::Sidecar& sidecar(size_t worker) { return *workers_[worker]->sidecar; }
  const sidecar::Shards& shards() const { return shards_; }
  // REQUIRES: on the loop of that worker
  sidecar::Engine& engine(size_t worker) { return *workers_[worker]->engine; }

  // Since when every worker has had all its connections; INT64_MAX: one has not.
  int64_t whole_since() const;
  void SetWallOffset(int64_t micros);

 private:
  struct Worker {
    explicit Worker(std::string name) : loop(std::move(name)) {}
    Loop loop;
    VirtualSlots* slots = nullptr;  // the sidecar's
    std::unique_ptr<sidecar::ShardNotices> notices;
    std::unique_ptr<sidecar::Sidecar> sidecar;
    std::unique_ptr<sidecar::EngineRouter> engine;
    std::unique_ptr<sidecar::FamilyPops> families;
  };

  const int64_t number_;
  Peers peers_;
  engine::Generation generation_;
  sidecar::UntimedRoom room_{sidecar::PushLimits::kUntimedBytesMax};
  sidecar::Shards shards_;
  state::DeliveredIndex delivered_{100'000};
  state::QueueCapacity capacity_;
  state::Maintenance maintenance_;
  const storage::PayloadCipher cipher_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace queen::simulator
