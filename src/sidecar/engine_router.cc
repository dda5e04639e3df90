#include "sidecar/engine_router.h"

#include <algorithm>
#include <functional>

#include "sidecar/answers.h"
#include "sidecar/family_pops.h"
#include "sidecar/streams.h"
#include "storage/lines.h"

namespace queen::sidecar {
namespace {

std::atomic<uint64_t> g_next_ticket{1};

}  // namespace

size_t Shards::OwnerOfQueue(std::string_view queue) const {
  return std::hash<std::string_view>{}(queue) % shards.size();
}

size_t Shards::OwnerOfPartition(PartitionId partition) const {
  return static_cast<size_t>(partition.value) % shards.size();
}

template <typename Tell>
void Shards::TellFamilies(const Loop& here, Tell tell) const {
  for (const Shard& shard : shards) {
    if (shard.loop == &here) {
      tell(*shard.families);
    } else {
      shard.loop->Post([families = shard.families, tell] { tell(*families); });
    }
  }
}

void ShardNotices::Born(std::string_view queue) {
  if (shards_.peers != nullptr) shards_.peers->QueueChanged(queue);
  shards_.TellFamilies(
      here_, [queue = std::string(queue)](FamilyPops& families) { families.OnBorn(queue); });
}

void ShardNotices::Pushed(std::string_view queue, std::string_view partition, PartitionId id,
                          const std::vector<engine::SegmentSpan>& segments) {
  const Shards::Shard& owner = shards_.shards[shards_.OwnerOfQueue(queue)];
  if (owner.loop == &here_) {
    owner.sidecar->pop().OnPushed(queue, partition, id, segments);
    return;
  }
  owner.loop->Post([sidecar = owner.sidecar, queue = std::string(queue),
                    partition = std::string(partition), id,
                    segments] { sidecar->pop().OnPushed(queue, partition, id, segments); });
}

void ShardNotices::Freed(std::string_view queue, std::string_view partition, PartitionId id,
                         std::string_view group, const LeaseEnd& end) {
  const Shards::Shard& owner = shards_.shards[shards_.OwnerOfQueue(queue)];
  if (owner.loop == &here_) {
    owner.sidecar->pop().OnFreed(queue, partition, id, group, end);
    return;
  }
  owner.loop->Post([sidecar = owner.sidecar, queue = std::string(queue),
                    partition = std::string(partition), id, group = std::string(group),
                    end] { sidecar->pop().OnFreed(queue, partition, id, group, end); });
}

EngineRouter::EngineRouter(const Shards& shards, Loop& here, state::DeliveredIndex& delivered)
    : shards_(shards), here_(here), delivered_(delivered) {}

template <typename Task>
void EngineRouter::On(size_t owner, Task task) {
  const Shards::Shard& shard = shards_.shards[owner];
  if (shard.loop == &here_) {
    task(*shard.sidecar);
    return;
  }
  shard.loop->Post([sidecar = shard.sidecar, task = std::move(task)]() mutable { task(*sidecar); });
}

// Sends each item to its owner and answers the request when every owner has answered its part.
template <typename Outcome, typename Request, typename OwnerOf, typename Submit>
void EngineRouter::Split(Request request, OwnerOf owner_of, Submit submit) {
  auto gathered = std::make_shared<Gathered<Request, Outcome>>();
  gathered->request = std::move(request);
  gathered->outcomes.resize(gathered->request.items.size());
  std::vector<std::vector<size_t>> places(shards_.shards.size());
  for (size_t i = 0; i < gathered->request.items.size(); ++i) {
    places[owner_of(gathered->request.items[i])].push_back(i);
  }
  for (const auto& part : places) gathered->parts_open += part.empty() ? 0 : 1;
  for (size_t owner = 0; owner < places.size(); ++owner) {
    if (places[owner].empty()) continue;
    Request part;  // what its items view is in the whole, which `gathered` keeps alive
    for (const size_t place : places[owner]) part.items.push_back(gathered->request.items[place]);
    part.done = [gathered, here = &here_, places = std::move(places[owner])](
                    Request&, Result<std::vector<Outcome>> result) mutable {
      if (here->IsOwner()) {
        gathered->TakePart(places, std::move(result));
        return;
      }
      here->Post([gathered = std::move(gathered), places = std::move(places),
                  result = std::move(result)]() mutable {
        gathered->TakePart(places, std::move(result));
      });
    };
    On(owner, [part = std::move(part), submit](Sidecar& sidecar) mutable {
      submit(sidecar, std::move(part));
    });
  }
}

Sidecar& EngineRouter::Here() const {
  const auto shard = std::find_if(shards_.shards.begin(), shards_.shards.end(),
                                  [this](const Shards::Shard& s) { return s.loop == &here_; });
  assert(shard != shards_.shards.end());
  return *shard->sidecar;
}

// ---- push

void EngineRouter::Push(PushRequest request) {
  if (shards_.buffer == nullptr && shards_.maintenance->push()) {
    request.done(request, Status(Code::kOverloaded, "Pushes are paused by maintenance"));
    return;
  }
  size_t owner = SIZE_MAX;
  for (const PushItem& item : request.items) {
    const size_t own = shards_.OwnerOfQueue(item.queue);
    if (owner == SIZE_MAX) owner = own;
    if (own != owner) return PushSplit(std::move(request));
  }
  if (owner == SIZE_MAX || shards_.shards[owner].loop == &here_) {
    shards_.shards[owner == SIZE_MAX ? 0 : owner].sidecar->push().Submit(std::move(request));
    return;
  }
  PushSplit(std::move(request));
}

void EngineRouter::PushSplit(PushRequest request) {
  Split<PushOutcome>(
      std::move(request), [this](const PushItem& item) { return shards_.OwnerOfQueue(item.queue); },
      [](Sidecar& sidecar, PushRequest part) { sidecar.push().Submit(std::move(part)); });
}

// ---- pop

CancelPop EngineRouter::Pop(PopRequest request, PopDone done) {
  if (request.OfFamily()) return PopFamily(std::move(request), std::move(done));
  const uint64_t ticket = g_next_ticket.fetch_add(1, std::memory_order_relaxed);
  const size_t owner = shards_.OwnerOfQueue(request.queue);
  PopDone answer = [this, here = &here_, group = request.group,
                    done = std::move(done)](Result<PopResult> result) mutable {
    // On the owner's loop: an ack may follow as soon as the reply has left.
    if (result.ok()) Remember(group, *result);
    if (here->IsOwner()) {
      done(std::move(result));
      return;
    }
    here->Post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  };
  On(owner,
     [ticket, request = std::move(request), answer = std::move(answer)](Sidecar& sidecar) mutable {
       sidecar.pop().Submit(ticket, std::move(request), std::move(answer));
     });
  return [this, owner, ticket] {
    On(owner, [ticket](Sidecar& sidecar) { sidecar.pop().Cancel(ticket); });
  };
}

CancelPop EngineRouter::PopFamily(PopRequest request, PopDone done) {
  const uint64_t ticket = g_next_ticket.fetch_add(1, std::memory_order_relaxed);
  const Shards::Shard owner = shards_.shards[shards_.OwnerOfQueue(request.FamilyKey())];
  if (owner.loop == &here_) {
    owner.families->Submit(ticket, std::move(request), std::move(done));
    return [families = owner.families, ticket] { families->Cancel(ticket); };
  }
  PopDone answer = [here = &here_, done = std::move(done)](Result<PopResult> result) mutable {
    here->Post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  };
  owner.loop->Post([families = owner.families, ticket, request = std::move(request),
                    answer = std::move(answer)]() mutable {
    families->Submit(ticket, std::move(request), std::move(answer));
  });
  return [owner, ticket] {
    owner.loop->Post([families = owner.families, ticket] { families->Cancel(ticket); });
  };
}

// The deliveries of one result are of one queue.
void EngineRouter::GiveBack(std::string group, PopResult result) {
  if (!result.leased || result.deliveries.empty()) return;
  const size_t owner = shards_.OwnerOfQueue(result.deliveries.front().queue_name);
  On(owner, [group = std::move(group), result = std::move(result)](Sidecar& sidecar) {
    sidecar.pop().GiveBack(group, result.lease_id, result.deliveries);
  });
}

// Notes which message a client will mean by a transactionId it was given.
void EngineRouter::Remember(const std::string& group, const PopResult& result) const {
  if (!result.leased) return;
  std::vector<std::string_view> txns;
  for (const Delivery& delivery : result.deliveries) {
    state::DeliveredRange range{delivery.partition,
                                delivery.queue_name,
                                delivery.partition_name,
                                group,
                                delivery.group_id,
                                {},
                                {}};
    range.uuids.reserve(static_cast<size_t>(delivery.end - delivery.cursor));
    for (const storage::SegmentPtr& segment : delivery.segments) {
      txns.clear();
      if (!segment->txns.empty() &&
          !storage::SplitLines(segment->txns, static_cast<size_t>(segment->count), txns).ok()) {
        continue;  // then the database is asked
      }
      const int64_t first = std::max(segment->base_seq, delivery.cursor);
      const int64_t last = std::min(segment->end_seq(), delivery.end);
      for (int64_t seq = first; seq < last; ++seq) {
        if (!delivery.Delivers(seq)) continue;
        const auto line = static_cast<size_t>(seq - segment->base_seq);
        if (!txns.empty() && !txns[line].empty()) {
          range.Add(txns[line], seq);
        } else {
          const MessageId id{segment->CreatedMicros(seq) / 1000, delivery.partition, seq};
          range.Add(EncodeMessageId(id), seq);
        }
      }
    }
    delivered_.Add(std::move(range));
  }
}

// ---- ack and lease

void EngineRouter::Ack(AckRequest request) {
  bool here = true;
  for (const AckItem& item : request.items) {
    here = here && shards_.shards[AckOwner(item)].loop == &here_;
  }
  if (here) {
    Here().ack().Submit(std::move(request));
  } else {
    AckSplit(std::move(request));
  }
}

// The owner of the queue, where its pops and pushes are: what they know of the lane serves the ack.
// Where this process has not delivered the message any worker does.
size_t EngineRouter::AckOwner(const AckItem& item) const {
  if (!item.partition) return 0;
  const std::string queue = delivered_.QueueOf(*item.partition);
  return queue.empty() ? shards_.OwnerOfPartition(*item.partition) : shards_.OwnerOfQueue(queue);
}

void EngineRouter::AckSplit(AckRequest request) {
  Split<AckOutcome>(
      std::move(request), [this](const AckItem& item) { return AckOwner(item); },
      [](Sidecar& sidecar, AckRequest part) { sidecar.ack().Submit(std::move(part)); });
}

// A transaction is not buffered, so its pushes must not overtake those that are.
void EngineRouter::Transaction(TransactionRequest request) {
  const PushBuffer* buffer = shards_.buffer;
  const bool overtakes =
      buffer != nullptr && buffer->active() &&
      std::any_of(request.pushes.begin(), request.pushes.end(),
                  [&](const PushItem& item) { return buffer->Holds(item.queue, item.partition); });
  if (overtakes) {
    request.done(request,
                 Status(Code::kOverloaded, "Messages pushed before are still in the file buffer"));
    return;
  }
  Here().transaction().Submit(std::move(request));
}

void EngineRouter::RegisterStreamQuery(StreamQueryRequest request, StreamQueryDone done) {
  AskToRegister(Here().lookups(), request, std::move(done));
}

void EngineRouter::GetStreamState(StreamStateRequest request, StreamStateDone done) {
  AskForState(Here().lookups(), request, std::move(done));
}

void EngineRouter::Renew(RenewRequest request, RenewDone done) {
  Here().renew().Submit(request, std::move(done));
}

// ---- administration

void EngineRouter::QueueChanged(const std::optional<std::string>& queue) {
  if (shards_.peers != nullptr) shards_.peers->QueueChanged(queue.value_or(""));
  shards_.TellFamilies(here_, [](FamilyPops& families) { families.OnQueueChanged(); });
  if (queue) {
    On(shards_.OwnerOfQueue(*queue),
       [queue = *queue](Sidecar& sidecar) { sidecar.pop().OnQueueChanged(queue); });
    return;
  }
  for (size_t owner = 0; owner < shards_.shards.size(); ++owner) {
    On(owner, [](Sidecar& sidecar) { sidecar.pop().OnQueuesChanged(); });
  }
}

}  // namespace queen::sidecar
