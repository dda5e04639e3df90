#include "sidecar/transaction_call.h"

#include <deque>
#include <map>

#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// No group has it: where one is named that does not exist, which NULL would not say.
constexpr int32_t kNoGroup = -1;

std::string_view KindOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompleted:
      return "completed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kDeadLetter:
      return "dlq";
    case Verdict::kRetry:
      return "retry";
  }
  return "?";
}

void AddOrNull(pg::UuidArray& array, const std::optional<Uuid>& value) {
  if (value) {
    array.Add(*value);
  } else {
    array.AddNull();
  }
}

pg::UuidArray ArrayOf(const std::vector<Uuid>& leases) {
  pg::UuidArray array(leases.size(), 16);
  for (const Uuid& lease : leases) array.Add(lease);
  return array;
}

void AddOrNull(pg::TextArray& array, std::string_view text) {
  if (text.empty()) {
    array.AddNull();
  } else {
    array.Add(text);
  }
}

pg::Params TransactionParams(const TransactionCall& call, int64_t broker, PushParams segments) {
  pg::Int4Array push_indexes(call.pushes->request.items.size(), 4);
  for (const TransactionCall::Part& part : call.parts) {
    for (const PushLine& line : part.work.lines) {
      push_indexes.Add(static_cast<int32_t>(line.item));
    }
  }
  const size_t count = call.request.acks.size();
  pg::Int4Array ack_indexes(count, 4);
  pg::Int4Array partitions(count, 4);
  pg::Int4Array groups(count, 4);
  pg::UuidArray leases(count, 16);
  pg::TextArray txns(count);
  pg::Int8Array seqs(count, 8);
  pg::TextArray kinds(count);
  pg::BoolArray cumulatives(count, 1);
  pg::TextArray errors(count);
  for (size_t i = 0; i < count; ++i) {
    const TransactionAck& ack = call.request.acks[i];
    const state::AckTarget& target = call.targets[i].found;
    ack_indexes.Add(static_cast<int32_t>(i));
    partitions.Add(ack.item.partition->value);
    if (ack.group_of_lease && !target.group_id) {
      groups.AddNull();  // a lease that nothing is left of may be that of a replay
    } else {
      groups.Add(target.group_id.value_or(kNoGroup));
    }
    AddOrNull(leases, ack.item.lease_id);
    txns.Add(ack.item.txn);
    if (target.seq) {
      seqs.Add(*target.seq);
    } else {
      seqs.AddNull();
    }
    kinds.Add(KindOf(ack.item.verdict));
    cumulatives.Add(ack.item.cumulative);
    AddOrNull(errors, ack.item.message);
  }
  pg::Params params(24);
  params.Int8(broker).Int8(call.n);
  segments.TakeSegments(params);
  params.Add(std::move(push_indexes)).Add(std::move(ack_indexes)).Add(std::move(partitions));
  params.Add(std::move(groups)).Add(std::move(leases)).Add(std::move(txns)).Add(std::move(seqs));
  params.Add(std::move(kinds)).Add(std::move(cumulatives)).Add(std::move(errors));
  params.Add(ArrayOf(call.request.required_leases)).Add(segments.TakeEncrypted());
  return params;
}

pg::Params CycleParams(const TransactionCall& call, int64_t broker, PushParams segments) {
  const StreamCycle& cycle = *call.request.cycle;
  const AckItem& ack = call.request.acks[0].item;
  const state::AckTarget& target = call.targets[0].found;
  pg::Params params(24);
  params.Int8(broker).Int8(call.n).Uuid(cycle.query_id).Int4(ack.partition->value);
  params.Int4(target.group_id.value_or(kNoGroup));
  ack.lease_id ? params.Uuid(*ack.lease_id) : params.Null(pg::oid::kUuid);
  ack.txn.empty() ? params.Null(pg::oid::kInt8) : params.Int8(*target.seq);
  params.Text(KindOf(ack.verdict));
  ack.message.empty() ? params.Null(pg::oid::kText) : params.Text(std::string_view(ack.message));
  params.Bool(cycle.release);
  pg::TextArray keys(cycle.ops.size());
  pg::TextArray values(cycle.ops.size());
  pg::TextArray window_ends(cycle.ops.size());
  for (const StreamCycle::StateOp& op : cycle.ops) {
    keys.Add(op.key);
    AddOrNull(values, op.value.value_or(std::string_view()));
    AddOrNull(window_ends, op.window_end);
  }
  params.Add(std::move(keys)).Add(std::move(values)).Add(std::move(window_ends));
  segments.TakeSegments(params);
  params.Add(segments.TakeEncrypted());
  return params;
}

}  // namespace

pg::Params NamesOfParts(const TransactionCall& call) {
  pg::TextArray queues(call.parts.size());
  pg::TextArray names(call.parts.size());
  for (const TransactionCall::Part& part : call.parts) {
    queues.Add(part.queue);
    names.Add(part.name);
  }
  pg::Params params(2);
  params.Add(std::move(queues)).Add(std::move(names));
  return params;
}

pg::Batch PrepareBatch(const TransactionCall& call) {
  pg::Batch batch;
  batch.Add(storage::kFindPartitions, NamesOfParts(call));

  const size_t count = call.unknown_acks.size();
  pg::Int4Array partitions(count, 4);
  pg::TextArray groups(count);
  pg::UuidArray leases(count, 16);
  pg::TextArray txns(count);
  for (const uint32_t i : call.unknown_acks) {
    const TransactionAck& ack = call.request.acks[i];
    partitions.Add(ack.item.partition->value);
    if (ack.group_of_lease) {
      groups.AddNull();
    } else {
      groups.Add(ack.item.group);
    }
    AddOrNull(leases, ack.item.lease_id);
    AddOrNull(txns, ack.item.txn);
  }
  pg::Params find(5);
  find.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(leases));
  find.Add(std::move(txns)).Add(ArrayOf(call.request.required_leases));
  batch.Add(storage::kFindTransactionTargets, std::move(find));
  return batch;
}

pg::Batch ExecuteBatch(TransactionCall& call, int64_t broker,
                       const storage::PayloadCipher& cipher) {
  call.segments.clear();
  PushParams segments(call.parts.size());
  for (size_t p = 0; p < call.parts.size(); ++p) {
    TransactionCall::Part& part = call.parts[p];
    part.work = {};
    part.work.groups.push_back({call.pushes, part.items, 0, false});
    part.work.Lay(*part.id, cipher, part.encrypted);
    for (size_t s = 0; s < part.work.segments.size(); ++s) {
      segments.Add(*part.id, part.work.segments[s], 0, 0);
      call.segments.emplace_back(p, s);
    }
  }
  if (call.request.cycle) {
    return pg::Batch(storage::kStreamCycle, CycleParams(call, broker, std::move(segments)));
  }
  return pg::Batch(storage::kExecuteTransaction,
                   TransactionParams(call, broker, std::move(segments)));
}

pg::Batch ResolveBatch(const TransactionCall& call, int64_t broker) {
  pg::Params key(2);
  key.Int8(broker).Int8(call.n);
  pg::Batch batch(storage::kResolveBatch, std::move(key));
  const size_t count = call.request.acks.size();
  pg::Int4Array partitions(count, 4);
  pg::Int4Array groups(count, 4);
  pg::Int8Array seqs(count, 8);
  for (size_t i = 0; i < count; ++i) {
    const state::AckTarget& target = call.targets[i].found;
    partitions.Add(call.request.acks[i].item.partition->value);
    groups.Add(target.group_id.value_or(kNoGroup));
    seqs.Add(target.seq.value_or(-1));
  }
  pg::Params dead(3);
  dead.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(seqs));
  batch.Add(storage::kFindDeadLetters, std::move(dead));
  return batch;
}

void TakeSegment(const TransactionCall& call, size_t ordinal, int64_t base_seq, int64_t created,
                 TransactionResult& result) {
  const auto [p, s] = call.segments[ordinal];
  const PushWork& work = call.parts[p].work;
  const PushSegment& segment = work.segments[s];
  for (int32_t i = 0; i < segment.segment->count; ++i) {
    result.pushed[work.lines[segment.first_line + static_cast<size_t>(i)].item] = {
        (created + i) / 1000, *call.parts[p].id, base_seq + i};
  }
}

bool TakePlaces(const TransactionCall& call, const pg::Rows& rows, TransactionResult& result) {
  const std::vector<int32_t> partitions = rows.Int4Array(0, 1);
  const std::vector<int64_t> base_seqs = rows.Int8Array(0, 2);
  if (base_seqs.size() != call.segments.size()) return false;
  std::map<int32_t, std::deque<std::pair<int64_t, int64_t>>> places;
  pg::ArrayReader times = rows.Array(0, 3);
  for (size_t i = 0; i < base_seqs.size() && times.Next(); ++i) {
    // Removed by retention already: the time in its ids is lost, their order is not.
    places[partitions[i]].emplace_back(base_seqs[i], times.IsNull() ? 0 : times.TimestampTz());
  }
  result.pushed.resize(call.pushes->request.items.size());
  for (size_t ordinal = 0; ordinal < call.segments.size(); ++ordinal) {
    auto& stored = places[call.parts[call.segments[ordinal].first].id->value];
    if (stored.empty()) return false;
    const auto [seq, created] = stored.front();
    stored.pop_front();
    TakeSegment(call, ordinal, seq, created, result);
  }
  return true;
}

}  // namespace queen::sidecar
