// One short step each: sweep_progress, sweep_segments, sweep_batches.
#include <algorithm>

#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {
namespace {

// Where a group has passed; nullopt: the queue does not ask, or has no groups.
std::optional<int64_t> PassedByAll(const Transaction& reader, const Catalog& catalog,
                                   int32_t partition_id, int32_t queue_id) {
  std::optional<int64_t> passed;
  for (const int32_t group_id : catalog.groups_by_queue.Of(queue_id)) {
    const GroupRow* group = catalog.groups.Find(reader, group_id);
    if (group == nullptr || group->name.rfind("queen-tail-", 0) == 0) continue;
    const LaneId lane{partition_id, group_id};
    const ProgressRow* row = NewestProgress(reader, catalog, lane).second;
    const int64_t cursor = row == nullptr ? StartOf(reader, catalog, lane, *group) : row->cursor;
    passed = std::min(passed.value_or(cursor), cursor);
  }
  return passed;
}

// Up to which offset messages of a partition have expired.
std::optional<int64_t> CutOf(const Transaction& reader, const Catalog& catalog,
                             int32_t partition_id, int64_t now) {
  const PartitionRow* partition = catalog.partitions.Find(reader, partition_id);
  const QueueRow* queue =
      partition == nullptr ? nullptr : catalog.queues.Find(reader, partition->queue_id);
  if (queue == nullptr) return std::nullopt;
  const auto first_at = [&](int32_t seconds) {
    return FirstSeqAt(reader, catalog, partition_id, now - int64_t{seconds} * 1'000'000);
  };
  std::optional<int64_t> cut;
  if (queue->retention_enabled.value_or(true) && queue->retention_seconds > 0) {
    cut = first_at(queue->retention_seconds);
  }
  if (queue->max_wait_time_seconds > 0) {
    cut = std::max(cut, std::optional(first_at(queue->max_wait_time_seconds)));
  }
  if (queue->retention_enabled.value_or(false) && queue->completed_retention_seconds > 0) {
    const auto passed = PassedByAll(reader, catalog, partition_id, partition->queue_id);
    cut = std::max(cut, std::optional(std::min(first_at(queue->completed_retention_seconds),
                                               passed.value_or(0))));
  }
  return cut;
}

struct Victim {
  SegmentKey key;
  int32_t count = 0;
  bool is_blank = false;
  bool blanks = false;  // it is the newest, and stays
};

// The expired segments of a partition, oldest first; the newest only when it is alone.
void AddVictims(const Transaction& reader, const Catalog& catalog, int32_t partition_id,
                int64_t cut, int64_t limit, std::vector<Victim>& victims) {
  const auto end = EndOfLog(reader, catalog, partition_id);
  if (!end) return;
  int64_t place = 0;
  int64_t total = 0;
  catalog.segments.Walk(reader, {partition_id, 0}, {partition_id, cut},
                        [&](const SegmentKey& key, const SegmentRow& row) {
                          const bool newest = key.base_seq == end->base_seq;
                          const bool blank = row.texts == nullptr;
                          if (key.base_seq + row.count > cut || (newest && blank)) return true;
                          ++place;
                          total += row.count;
                          if (place > limit) return false;
                          if (place > 1 && (total > limit || newest)) return false;
                          victims.push_back({key, row.count, blank, newest});
                          return true;
                        });
}

}  // namespace

Task<pg::Rows> SweepProgress(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const int32_t partition_id = *call.arguments.Int4(1);
  LaneId below{partition_id == 0 ? kIdMax : partition_id, *call.arguments.Int4(2)};
  const int32_t limit = *call.arguments.Int4(3);

  co_await transaction.NextStatement();
  std::optional<LaneId> last;
  std::vector<ProgressKey> free;
  for (int32_t number = 1; number <= limit; ++number) {
    const auto [highest, row] = catalog.progress.Last(transaction, {{0, 0}, 0}, {below, 0});
    if (highest == nullptr) break;
    below = highest->lane;
    if (number == limit) last = below;
    std::vector<ProgressKey> chain;
    bool busy = false;
    for (ProgressKey old{below, highest->epoch - 1}; catalog.progress.Find(transaction, old);
         --old.epoch) {
      busy |= catalog.progress.TryLock(transaction, old) != RowLock::kLocked;
      chain.push_back(old);
    }
    if (!busy) free.insert(free.end(), chain.begin(), chain.end());
  }
  int32_t removed = 0;
  for (const ProgressKey& key : free) {
    const bool deleted = co_await catalog.progress.Delete(transaction, key);
    removed += deleted ? 1 : 0;
  }
  Answer answer(
      {{"removed", oid::kInt4}, {"next_partition_id", oid::kInt4}, {"next_group_id", oid::kInt4}});
  answer.Int4(removed);
  if (last) {
    answer.Int4(last->partition_id).Int4(last->group_id);
  } else {
    answer.Null().Null();
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> SweepSegments(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const int32_t after = *call.arguments.Int4(1);
  const auto partitions = static_cast<size_t>(*call.arguments.Int4(2));
  const int32_t limit = *call.arguments.Int4(3);
  const int64_t now = transaction.Now();

  co_await transaction.NextStatement();
  std::vector<int32_t> ids;
  catalog.partitions.Walk(transaction, after + 1, kIdMax, [&](int32_t id, const PartitionRow&) {
    ids.push_back(id);
    return ids.size() < partitions;
  });
  co_await transaction.NextStatement();
  std::vector<Victim> victims;
  for (const int32_t id : ids) {
    const auto cut = CutOf(transaction, catalog, id, now);
    if (cut) AddVictims(transaction, catalog, id, *cut, limit, victims);
  }
  int64_t messages = 0;
  int32_t removed = 0;
  int32_t blanked = 0;
  co_await transaction.NextStatement();
  for (const Victim& victim : victims) {
    if (!victim.is_blank) messages += victim.count;
    std::vector<DedupKey> keyed;
    catalog.dedup.Walk(
        transaction, {victim.key.partition_id, ""}, {victim.key.partition_id + 1, ""},
        [&](const DedupKey& key, const DedupRow& row) {
          if (row.seq >= victim.key.base_seq && row.seq < victim.key.base_seq + victim.count) {
            keyed.push_back(key);
          }
          return true;
        });
    for (const DedupKey& key : keyed) (void)co_await catalog.dedup.Delete(transaction, key);
  }
  co_await transaction.NextStatement();
  for (const Victim& victim : victims) {
    if (victim.blanks) continue;
    const bool deleted = co_await catalog.segments.Delete(transaction, victim.key);
    removed += deleted ? 1 : 0;
  }
  co_await transaction.NextStatement();
  for (const Victim& victim : victims) {
    if (!victim.blanks) continue;
    const bool changed = co_await catalog.segments.Update(
        transaction, victim.key, [](SegmentRow& row) { row.texts = nullptr; });
    blanked += changed ? 1 : 0;
  }
  std::optional<int32_t> next;
  if (removed > 0) {
    next = kIdMax;
    for (const Victim& victim : victims) next = std::min(*next, victim.key.partition_id - 1);
  } else if (ids.size() == partitions) {
    next = ids.back();
  }
  Answer answer({{"removed", oid::kInt4},
                 {"blanked", oid::kInt4},
                 {"messages", oid::kInt8},
                 {"next_after", oid::kInt4}});
  answer.Int4(removed).Int4(blanked).Int8(messages).Int4(next);
  co_return std::move(answer).Take();
}

Task<pg::Rows> SweepBatches(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const int64_t age_micros = int64_t{*call.arguments.Int4(1)} * 1'000'000;
  const auto limit = static_cast<size_t>(*call.arguments.Int4(2));
  const int64_t after = *call.arguments.Int8(3);

  co_await transaction.NextStatement();
  size_t looked = 0;
  std::vector<std::pair<BatchKey, Xid>> old;
  for (auto at = catalog.batches_by_xid.LowerBound(static_cast<Xid>(after));
       at != catalog.batches_by_xid.end() && looked < limit; ++at) {
    for (const BatchKey& key : at->second) {
      const BatchRow* row = catalog.batches.Find(transaction, key);
      if (row == nullptr || row->xid != at->first) continue;
      if (++looked > limit) break;
      if (row->created_at < transaction.Now() - age_micros) old.emplace_back(key, row->xid);
    }
  }
  int32_t removed = 0;
  int64_t reached = after;
  for (const auto& [key, xid] : old) {
    const bool deleted = co_await catalog.batches.Delete(transaction, key);
    if (!deleted) continue;
    ++removed;
    reached = std::max(reached, static_cast<int64_t>(xid));
  }
  Answer answer({{"removed", oid::kInt4}, {"reached", oid::kInt8}});
  answer.Int4(removed).Int8(reached);
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
