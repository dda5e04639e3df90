// What follows a lease: the segments that are not in the cache are read, and what nobody waits for
// any more is given back.
#include <algorithm>
#include <utility>

#include "sidecar/pop_state_machine.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// What they take until the reply is made of them, and the reply itself.
size_t BytesOf(const std::vector<Delivery>& deliveries) {
  size_t bytes = 0;
  for (const Delivery& delivery : deliveries) {
    bytes += static_cast<size_t>((delivery.end - delivery.cursor) * ReplyShare::kMessageBytes);
    for (const storage::SegmentPtr& segment : delivery.segments) bytes += segment->bytes();
  }
  return bytes;
}

// Whether anything is left to deliver of what was leased: retention takes whole segments, and a
// message that was deleted is an empty line.
bool HoldsMessages(const Delivery& delivery) {
  for (const storage::SegmentPtr& segment : delivery.segments) {
    std::string_view rest = segment->payloads;
    const int64_t end = std::min(segment->end_seq(), delivery.end);
    for (int64_t seq = segment->base_seq; seq < end; ++seq) {
      const size_t length = std::min(rest.find('\n'), rest.size());
      if (length > 0 && seq >= delivery.cursor && delivery.Delivers(seq)) return true;
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  }
  return false;
}

}  // namespace

void PopStateMachine::BeginFetch(const PopPtr& pop) {
  pop->state = PopState::kFetching;
  pop->place_for_room.reset();
  bool missing = false;
  for (size_t d = 0; d < pop->deliveries.size(); ++d) {
    pop->deliveries[d].segments.clear();
    for (const SegmentKey& key : pop->segment_keys[d]) {
      auto segment = cache_.Find(key.partition, key.base_seq, key.count, key.created_micros);
      missing = missing || segment == nullptr;
      pop->deliveries[d].segments.push_back(std::move(segment));
    }
  }
  if (missing) {
    fetch_.push_back(pop);
    scheduler_.Wake();
  } else {
    Deliver(pop, false);
  }
}

void PopStateMachine::SendFetch() {
  std::vector<PopPtr> pops = TakeChunk(fetch_, scheduler_.FreeSlots());
  std::vector<SegmentKey> keys;
  for (const PopPtr& pop : pops) {
    for (size_t d = 0; d < pop->deliveries.size(); ++d) {
      for (size_t s = 0; s < pop->segment_keys[d].size(); ++s) {
        if (!pop->deliveries[d].segments[s]) keys.push_back(pop->segment_keys[d][s]);
      }
    }
  }
  pg::Int4Array partitions(keys.size(), 4);
  pg::Int8Array bases(keys.size(), 8);
  for (const SegmentKey& key : keys) {
    partitions.Add(key.partition.value);
    bases.Add(key.base_seq);
  }
  pg::Params params(2);
  params.Add(std::move(partitions)).Add(std::move(bases));
  const auto count = static_cast<int64_t>(pops.size());
  scheduler_.Execute(*this, count, pg::Batch(storage::kFetch, std::move(params)),
                     [this, pops = std::move(pops), keys = std::move(keys)](
                         const pg::BatchResult& result) { OnFetched(pops, keys, result); });
}

void PopStateMachine::OnFetched(const std::vector<PopPtr>& pops,
                                const std::vector<SegmentKey>& keys,
                                const pg::BatchResult& result) {
  if (!result.ok()) {
    OnBatchFailed(pops, fetch_, result);
    return;
  }
  std::vector<storage::SegmentPtr> fetched(keys.size());
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const auto index = static_cast<size_t>(rows.Int4(row, 0)) - 1;
    auto segment = std::make_shared<storage::Segment>();
    segment->partition = keys[index].partition;
    segment->base_seq = keys[index].base_seq;
    segment->count = rows.Int4(row, 1);
    segment->created_micros = rows.TimestampTz(row, 2);
    segment->payloads = rows.Text(row, 3);
    if (!rows.IsNull(row, 4)) segment->txns = rows.Text(row, 4);
    if (!rows.IsNull(row, 5)) segment->meta = rows.Text(row, 5);
    fetched[index] = segment;
    cache_.Put(std::move(segment));
  }
  size_t next = 0;
  for (const PopPtr& pop : pops) {
    for (Delivery& delivery : pop->deliveries) {
      for (storage::SegmentPtr& segment : delivery.segments) {
        if (!segment) segment = fetched[next++];
      }
    }
    if (!pop->finished()) Deliver(pop, true);
  }
}

// All that is still there has been read: `fresh`, or is remembered, with messages in it that have
// been deleted since.
void PopStateMachine::Deliver(const PopPtr& pop, bool fresh) {
  DropGone(*pop, fresh);
  if (pop->deliveries.empty() && !pop->cancelled) {
    GoOnWithout(pop);
  } else {
    Complete(pop);
  }
}

// What retention took, or somebody has deleted, is not delivered, and what is believed of the lane
// is wrong. A lease with holes in it would not end with the acks of what is left of it: it is given
// back whole. What is settled cannot be.
void PopStateMachine::DropGone(Pop& pop, bool fresh) {
  std::erase_if(pop.deliveries, [&](Delivery& delivery) {
    const bool all = std::erase(delivery.segments, nullptr) == 0;
    const bool any = !delivery.segments.empty() && (!fresh || HoldsMessages(delivery));
    if (all && any) return false;
    lanes_.Drop({delivery.partition, GroupId{delivery.group_id}});
    if (pop.request.auto_ack) return !any;
    if (Release(*pop.group, delivery.partition, delivery.group_id, pop.lease_id)) {
      pop.gone_from = delivery.partition;
    }
    return true;
  });
}

// Nothing is left of what was leased for it. It asks again, behind what is given back.
void PopStateMachine::GoOnWithout(const PopPtr& pop) {
  pop->segment_keys.clear();
  pop->room.reset();
  pop->lease_id = MakeUuidV7();
  pop->confirmed = false;
  pop->asked = false;
  if (pop->overdue) {
    FinishOverdue(pop);
  } else if (pop->gone_from) {
    pop->state = PopState::kLeasing;
    pop->candidates.clear();
    blocked_[KeyOf(*std::exchange(pop->gone_from, std::nullopt), *pop->group)].push_back(pop);
  } else {
    Advance(pop);
  }
}

void PopStateMachine::Complete(const PopPtr& pop) {
  if (pop->finished()) return;
  if (pop->cancelled) {
    GiveBackDeliveries(*pop);
    Finish(pop, PopState::kEmpty, PopResult{});
    return;
  }
  PopResult result;
  result.lease_id = pop->lease_id;
  result.leased = !pop->request.auto_ack;
  result.deliveries = std::move(pop->deliveries);
  result.room = std::move(pop->room);
  if (result.room) result.room->Resize(BytesOf(result.deliveries));
  Finish(pop, PopState::kCompleted, std::move(result));
}

// ---- giving back

void PopStateMachine::GiveBackDeliveries(const Pop& pop) {
  if (pop.request.auto_ack) return;
  for (const Delivery& delivery : pop.deliveries) {
    Release(*pop.group, delivery.partition, delivery.group_id, pop.lease_id);
  }
}

// Under another id from then on: it could lease again what is on its way back.
void PopStateMachine::GiveBackDoubtful(Pop& pop) {
  if (pop.doubtful_group_id == 0) return;
  for (const PartitionId partition : pop.candidates) {
    Release(*pop.group, partition, pop.doubtful_group_id, pop.lease_id);
  }
  pop.doubtful_group_id = 0;
  pop.lease_id = MakeUuidV7();
}

void PopStateMachine::GiveBack(const std::string& group, const Uuid& lease_id,
                               const std::vector<Delivery>& deliveries) {
  loop_.AssertOwner();
  for (const Delivery& delivery : deliveries) {
    Release(GroupOf(delivery.queue_name, group), delivery.partition, delivery.group_id, lease_id);
  }
}

// False: there are too many already, and the lease runs out.
bool PopStateMachine::Release(PopGroup& group, PartitionId partition, int32_t group_id,
                              const Uuid& lease_id) {
  const bool taken =
      returns_.Add({partition, GroupId{group_id}}, lease_id,
                   [this, &group, partition](bool over) { OnReturned(group, partition, over); });
  if (taken) ++group.open_pops;  // until it is given back
  return taken;
}

void PopStateMachine::OnReturned(PopGroup& group, PartitionId partition, bool over) {
  if (over) {
    group.ring.Free(partition);
    group.ring.Add(partition);
  }
  Unblock(KeyOf(partition, group));
  DropUse(group);
}

}  // namespace queen::sidecar
