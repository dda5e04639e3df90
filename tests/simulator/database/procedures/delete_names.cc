// What removes names, as an administrator does: delete_queue, delete_partition, delete_group. The
// rows they leave behind are found by nobody; the sweep of them is not modelled.
#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/names.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {
namespace {

// The starts and the dead letters of a group are those of the one that takes its place.
Task<void> HandOver(Transaction& transaction, Catalog& catalog, int32_t queue_id, int32_t from,
                    int32_t to) {
  std::vector<std::pair<int32_t, int64_t>> starts;
  catalog.group_starts.Walk(transaction, {from, 0}, {from + 1, 0},
                            [&](const GroupStartKey& key, const GroupStartRow& row) {
                              starts.emplace_back(key.partition_id, row.seq);
                              return true;
                            });
  for (const auto& [partition_id, seq] : starts) {
    const GroupStartKey key{to, partition_id};
    (void)co_await catalog.group_starts.Insert(transaction, key, GroupStartRow{seq});
  }
  co_await transaction.NextStatement();
  std::vector<std::pair<DeadLetterKey, DeadLetterRow>> letters;
  catalog.dead_letters.WalkAll(
      transaction, [&](const DeadLetterKey& key, const DeadLetterRow& row) {
        const PartitionRow* partition = catalog.partitions.Find(transaction, key.lane.partition_id);
        if (key.lane.group_id == from && partition != nullptr && partition->queue_id == queue_id) {
          letters.emplace_back(key, row);
        }
        return true;
      });
  for (const auto& [key, row] : letters) {
    DeadLetterKey moved = key;
    moved.lane.group_id = to;
    (void)co_await catalog.dead_letters.Delete(transaction, key);
    (void)co_await catalog.dead_letters.Insert(transaction, moved, row);
  }
}

// The records of a group on families; everybody is told where there were some.
Task<void> DeleteFamilies(Transaction& transaction, Catalog& catalog, const std::string& group) {
  co_await transaction.NextStatement();
  std::vector<FamilyKey> families;
  std::set<int32_t> ids;
  catalog.families.WalkAll(transaction, [&](const FamilyKey& key, const FamilyRow& row) {
    if (key.group_name == group) {
      families.push_back(key);
      ids.insert(row.id);
    }
    return true;
  });
  std::vector<FamilyQueueKey> joined;
  catalog.family_queues.WalkAll(transaction, [&](const FamilyQueueKey& key, const FamilyQueueRow&) {
    if (ids.count(key.family_id) > 0) joined.push_back(key);
    return true;
  });
  for (const FamilyQueueKey& key : joined) {
    (void)co_await catalog.family_queues.Delete(transaction, key);
  }
  bool any = false;
  for (const FamilyKey& key : families) {
    const bool deleted = co_await catalog.families.Delete(transaction, key);
    any |= deleted;
  }
  if (!any) co_return;
  std::vector<int32_t> mark{0};
  co_await Announce(transaction, catalog, std::move(mark), 0);
}

}  // namespace

Task<pg::Rows> DeleteQueue(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const std::string name(*call.arguments.Text(1));
  co_await transaction.NextStatement();
  std::vector<EarlyGroupKey> early;
  catalog.early_groups.WalkAll(transaction, [&](const EarlyGroupKey& key, const EarlyGroupRow&) {
    if (key.queue_name == name) early.push_back(key);
    return true;
  });
  for (const EarlyGroupKey& key : early) {
    (void)co_await catalog.early_groups.Delete(transaction, key);
  }
  co_await transaction.NextStatement();
  const auto id = QueueNamed(transaction, catalog, name);
  bool deleted = false;
  if (id) deleted = co_await catalog.queues.Delete(transaction, *id);
  if (deleted) {
    co_await transaction.NextStatement();
    std::vector<FamilyQueueKey> joined;
    catalog.family_queues.Walk(transaction, {*id, 0}, {*id + 1, 0},
                               [&](const FamilyQueueKey& key, const FamilyQueueRow&) {
                                 joined.push_back(key);
                                 return true;
                               });
    for (const FamilyQueueKey& key : joined) {
      (void)co_await catalog.family_queues.Delete(transaction, key);
    }
    std::vector<int32_t> mark{-*id};
    co_await Announce(transaction, catalog, std::move(mark), 0);
  }
  Answer answer({{"delete_queue", oid::kBool}});
  answer.Bool(deleted);
  co_return std::move(answer).Take();
}

Task<pg::Rows> DeletePartition(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  co_await transaction.NextStatement();
  const auto queue_id = QueueNamed(transaction, catalog, *call.arguments.Text(1));
  const auto id = queue_id
                      ? PartitionNamed(transaction, catalog, *queue_id, *call.arguments.Text(2))
                      : std::nullopt;
  bool deleted = false;
  if (id) deleted = co_await catalog.partitions.Delete(transaction, *id);
  if (deleted) {
    std::set<int32_t> queues{*queue_id};
    co_await RaiseVersions(transaction, catalog, std::move(queues));
  }
  Answer answer({{"delete_partition", oid::kBool}});
  answer.Bool(deleted);
  co_return std::move(answer).Take();
}

Task<pg::Rows> DeleteGroup(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const std::string name(*call.arguments.Text(1));
  const auto queue_name = call.arguments.Text(2);
  const bool metadata = *call.arguments.Bool(3);
  int64_t partitions = 0;
  std::set<int32_t> queues;
  co_await transaction.NextStatement();
  std::vector<int32_t> ids;
  catalog.groups.WalkAll(transaction, [&](int32_t id, const GroupRow& row) {
    const QueueRow* queue = catalog.queues.Find(transaction, row.queue_id);
    if (row.name == name && queue != nullptr && (!queue_name || *queue_name == queue->name)) {
      ids.push_back(id);
    }
    return true;
  });
  for (const int32_t id : ids) {
    const std::optional<GroupRow> old = co_await catalog.groups.Lock(transaction, id);
    if (!old) continue;
    co_await transaction.NextStatement();
    for (const int32_t partition_id : catalog.partitions_by_queue.Of(old->queue_id)) {
      if (catalog.partitions.Find(transaction, partition_id) != nullptr &&
          NewestProgress(transaction, catalog, {partition_id, id}).first != nullptr) {
        ++partitions;
      }
    }
    (void)co_await catalog.groups.Delete(transaction, id);
    std::vector<int32_t> mark{-old->queue_id};
    co_await Announce(transaction, catalog, std::move(mark), 0);
    queues.insert(old->queue_id);
    if (metadata) continue;
    co_await transaction.NextStatement();
    const auto made = co_await InsertGroup(transaction, catalog, *old);
    co_await HandOver(transaction, catalog, old->queue_id, id, *made);
  }
  if (metadata) {
    co_await transaction.NextStatement();
    std::vector<EarlyGroupKey> early;
    catalog.early_groups.WalkAll(transaction, [&](const EarlyGroupKey& key, const EarlyGroupRow&) {
      if (key.group_name == name && (!queue_name || *queue_name == key.queue_name)) {
        early.push_back(key);
      }
      return true;
    });
    for (const EarlyGroupKey& key : early) {
      (void)co_await catalog.early_groups.Delete(transaction, key);
    }
  }
  if (metadata && !queue_name) co_await DeleteFamilies(transaction, catalog, name);
  co_await RaiseVersions(transaction, catalog, std::move(queues));
  Answer answer({{"deleted_partitions", oid::kInt8}});
  answer.Int8(partitions);
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
