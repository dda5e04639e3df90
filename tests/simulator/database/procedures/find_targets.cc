// What acks name: find_ack_targets, find_transaction_targets, find_dead_letters.
#include <algorithm>
#include <map>

#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/names.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/targets.h"

namespace queen::simulator {

std::optional<int64_t> SeqOfMessage(const Transaction& reader, const Catalog& catalog,
                                    int32_t partition_id, std::string_view txn) {
  if (txn.find('\n') != std::string_view::npos) return std::nullopt;
  const std::vector<FoundTransaction> found =
      FindTransactions(reader, catalog, partition_id, txn, 0, 0, true);
  return found.empty() ? std::nullopt : std::optional(found.front().seq);
}

std::optional<int32_t> GroupOfLease(const Transaction& reader, const Catalog& catalog,
                                    int32_t partition_id, std::optional<Uuid> lease,
                                    const Array<Uuid>& required) {
  std::vector<Uuid> leases;
  if (lease) {
    leases.push_back(*lease);
  } else {
    for (size_t i = 0; i < required.size(); ++i) leases.push_back(required.At(i));
  }
  std::optional<ProgressKey> newest;
  for (const Uuid& one : leases) {
    for (const ProgressKey& key : catalog.progress_by_lease.Of(one)) {
      const ProgressRow* row = catalog.progress.Find(reader, key);
      if (key.lane.partition_id != partition_id || row == nullptr || row->lease_id != one) continue;
      if (!newest || key.epoch > newest->epoch) newest = key;
    }
  }
  return newest ? std::optional(newest->lane.group_id) : std::nullopt;
}

namespace {

// Names of a partition that is there, as is its queue.
struct Place {
  int32_t queue_id;
  const QueueRow* queue;
  const PartitionRow* partition;
};
std::optional<Place> PlaceOf(const Call& call, int32_t partition_id) {
  const PartitionRow* partition = call.catalog.partitions.Find(call.transaction, partition_id);
  if (partition == nullptr) return std::nullopt;
  const QueueRow* queue = call.catalog.queues.Find(call.transaction, partition->queue_id);
  if (queue == nullptr) return std::nullopt;
  return Place{partition->queue_id, queue, partition};
}

}  // namespace

Task<pg::Rows> FindAckTargets(Call& call) {
  const Array<int32_t> partitions = call.arguments.Int4s(1);
  const Array<std::string_view> groups = call.arguments.Texts(2);
  const Array<std::string_view> txns = call.arguments.Texts(3);
  Answer answer({{"ordinal", oid::kInt4},
                 {"queue_name", oid::kText},
                 {"partition_name", oid::kText},
                 {"group_id", oid::kInt4},
                 {"seq", oid::kInt8}});
  std::map<int32_t, std::pair<std::string, std::vector<size_t>>> asked;  // one search each
  for (size_t i = 0; i < partitions.size(); ++i) {
    auto& [text, places] = asked[partitions.At(i)];
    if (!places.empty()) text += '\n';
    text += txns[i].value_or("");
    places.push_back(i);
  }
  std::vector<std::optional<int64_t>> seqs(partitions.size());
  for (const auto& [partition_id, ask] : asked) {
    for (const FoundTransaction& found :
         FindTransactions(call.transaction, call.catalog, partition_id, ask.first, 0, 0, true)) {
      auto& seq = seqs[ask.second[static_cast<size_t>(found.line)]];
      seq = std::min(seq.value_or(found.seq), found.seq);
    }
  }
  for (size_t i = 0; i < partitions.size(); ++i) {
    const auto place = PlaceOf(call, partitions.At(i));
    if (!place) continue;
    answer.Int4(static_cast<int32_t>(i + 1))
        .Text(place->queue->name)
        .Text(place->partition->name)
        .Int4(groups[i] ? GroupNamed(call.transaction, call.catalog, place->queue_id, groups.At(i))
                        : std::nullopt)
        .Int8(seqs[i]);
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> FindTransactionTargets(Call& call) {
  const Array<int32_t> partitions = call.arguments.Int4s(1);
  const Array<std::string_view> groups = call.arguments.Texts(2);
  const Array<Uuid> leases = call.arguments.Uuids(3);
  const Array<std::string_view> txns = call.arguments.Texts(4);
  const Array<Uuid> required = call.arguments.Uuids(5);
  Answer answer({{"ordinal", oid::kInt4},
                 {"name", oid::kText},
                 {"name", oid::kText},
                 {"id", oid::kInt4},
                 {"name", oid::kText},
                 {"seq", oid::kInt8}});
  for (size_t i = 0; i < partitions.size(); ++i) {
    const auto place = PlaceOf(call, partitions.At(i));
    if (!place) continue;
    std::optional<int32_t> group_id;
    if (groups[i]) {
      group_id = GroupNamed(call.transaction, call.catalog, place->queue_id, groups.At(i));
    } else {
      group_id =
          GroupOfLease(call.transaction, call.catalog, partitions.At(i), leases[i], required);
    }
    const GroupRow* group =
        group_id ? call.catalog.groups.Find(call.transaction, *group_id) : nullptr;
    if (group != nullptr && group->queue_id != place->queue_id) group = nullptr;
    answer.Int4(static_cast<int32_t>(i + 1)).Text(place->queue->name).Text(place->partition->name);
    if (group == nullptr) {
      answer.Null().Null();
    } else {
      answer.Int4(group_id).Text(group->name);
    }
    answer.Int8(txns[i] ? SeqOfMessage(call.transaction, call.catalog, partitions.At(i), txns.At(i))
                        : std::nullopt);
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> FindDeadLetters(Call& call) {
  const Array<int32_t> partitions = call.arguments.Int4s(1);
  const Array<int32_t> groups = call.arguments.Int4s(2);
  const Array<int64_t> seqs = call.arguments.Int8s(3);
  Answer answer({{"ordinal", oid::kInt4}});
  for (size_t i = 0; i < partitions.size(); ++i) {
    const DeadLetterKey key{{partitions.At(i), groups.At(i)}, seqs.At(i)};
    if (call.catalog.dead_letters.Find(call.transaction, key) == nullptr) continue;
    answer.Int4(static_cast<int32_t>(i + 1));
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
