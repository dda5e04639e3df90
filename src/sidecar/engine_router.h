// EngineRouter: the Engine that a worker's API uses. Every queue has one owner among the workers'
// sidecars, by the hash of its name: what belongs together (a partition's order, a group's ready
// ring, its waiters) is then on one thread. A request for a queue owned elsewhere crosses to that
// loop and its answer back. So has every pair of a family (namespace and/or task) and a group. Acks
// and extensions name no queue; an ack's owner is its partition's. A transaction may touch any
// number of queues and is executed where it arrived.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "sidecar/sidecar.h"
#include "state/maintenance.h"
#include "state/queue_activity.h"

namespace queen::sidecar {

class FamilyPops;

// All sidecars of the process, in the workers' order. Made before the workers run.
struct Shards {
  struct Shard {
    Loop* loop = nullptr;
    Sidecar* sidecar = nullptr;
    FamilyPops* families = nullptr;
    state::QueueActivity* activity = nullptr;  // what this worker's API did
  };
  std::vector<Shard> shards;
  const PushBuffer* buffer = nullptr;
  PeerHints* peers = nullptr;                       // the other brokers, if there are any
  const state::Maintenance* maintenance = nullptr;  // of the process

  size_t OwnerOfQueue(std::string_view queue) const;
  size_t OwnerOfPartition(PartitionId partition) const;
  // On the loop of each worker, at once where it is `here`: `tell(FamilyPops&)`.
  template <typename Tell>
  void TellFamilies(const Loop& here, Tell tell) const;
};

// Tells the owner of a queue what another sidecar has done to it.
class ShardNotices final : public Notices {
 public:
  ShardNotices(const Shards& shards, Loop& here) : shards_(shards), here_(here) {}
  void Pushed(std::string_view queue, std::string_view partition, PartitionId id,
              const std::vector<engine::SegmentSpan>& segments) override;
  void Freed(std::string_view queue, std::string_view partition, PartitionId id,
             std::string_view group, const LeaseEnd& end) override;
  void Born(std::string_view queue) override;

 private:
  const Shards& shards_;
  Loop& here_;
};

class EngineRouter final : public Engine {
 public:
  // Of the worker whose loop is `here`.
  EngineRouter(const Shards& shards, Loop& here, state::DeliveredIndex& delivered);

  void Push(PushRequest request) override;
  CancelPop Pop(PopRequest request, PopDone done) override;
  void GiveBack(std::string group, PopResult result) override;
  void Ack(AckRequest request) override;
  void Transaction(TransactionRequest request) override;
  void RegisterStreamQuery(StreamQueryRequest request, StreamQueryDone done) override;
  void GetStreamState(StreamStateRequest request, StreamStateDone done) override;
  void Renew(RenewRequest request, RenewDone done) override;
  void QueueChanged(const std::optional<std::string>& queue) override;

 private:
  Sidecar& Here() const;
  // Runs `task(sidecar)` on the owner's loop: at once when it is this one.
  template <typename Task>
  void On(size_t owner, Task task);
  template <typename Outcome, typename Request, typename OwnerOf, typename Submit>
  void Split(Request request, OwnerOf owner_of, Submit submit);
  CancelPop PopFamily(PopRequest request, PopDone done);
  void PushSplit(PushRequest request);
  size_t AckOwner(const AckItem& item) const;
  void AckSplit(AckRequest request);
  void Remember(const std::string& group, const PopResult& result) const;

  const Shards& shards_;
  Loop& here_;
  state::DeliveredIndex& delivered_;
};

}  // namespace queen::sidecar
