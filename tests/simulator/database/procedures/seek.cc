#include <algorithm>

#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/names.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {
namespace {

struct Target {
  std::string mode;
  std::optional<int64_t> time;
  std::optional<int64_t> offset;
};

int64_t CursorOf(const Transaction& reader, const Catalog& catalog, int32_t partition_id,
                 const Target& target) {
  const auto end = EndOfLog(reader, catalog, partition_id);
  const int64_t seq_end = end ? end->seq_end : 0;
  if (target.mode == "end") return seq_end;
  if (target.mode == "after") {
    return FirstSeqAt(reader, catalog, partition_id, target.time.value_or(0) + 1);
  }
  return std::min(std::max<int64_t>(target.offset.value_or(0), 0), seq_end);
}

// queen.lock_lane: the epoch of the newest row, locked; 0 with the lane's lock held instead.
Task<int64_t> LockLane(Transaction& writer, Catalog& catalog, LaneId lane) {
  co_await writer.NextStatement();
  const auto [newest, row] = NewestProgress(writer, catalog, lane);
  if (newest != nullptr) {
    const ProgressKey key = *newest;
    const auto locked = co_await catalog.progress.Lock(writer, key);
    if (locked) co_return key.epoch;
  }
  co_await writer.Lock(LockOfLane(lane));
  co_return 0;
}

// Until the row is won.
Task<int64_t> MoveLane(Transaction& writer, Catalog& catalog, LaneId lane, const Target& target) {
  for (;;) {
    const int64_t epoch = co_await LockLane(writer, catalog, lane);
    co_await writer.NextStatement();
    ProgressRow row;
    row.cursor = CursorOf(writer, catalog, lane.partition_id, target);
    const int64_t cursor = row.cursor;
    const ProgressKey key{lane, epoch + 1};
    const bool inserted = co_await InsertProgress(writer, catalog, key, std::move(row));
    if (!inserted) continue;
    co_await writer.NextStatement();
    const bool lost = co_await DropIfStale(writer, catalog, key);
    if (!lost) co_return cursor;
  }
}

Task<void> MoveStart(Transaction& writer, Catalog& catalog, int32_t group_id,
                     const std::vector<std::pair<int32_t, int64_t>>& moved, bool to_end) {
  co_await writer.NextStatement();
  for (const auto& [partition_id, cursor] : moved) {
    const GroupStartKey key{group_id, partition_id};
    if (!to_end) {
      (void)co_await catalog.group_starts.Delete(writer, key);
      continue;
    }
    const int64_t seq = cursor;
    const bool inserted = co_await catalog.group_starts.Insert(writer, key, GroupStartRow{seq});
    if (inserted) continue;
    (void)co_await catalog.group_starts.Update(writer, key,
                                               [seq](GroupStartRow& row) { row.seq = seq; });
  }
}

}  // namespace

Task<pg::Rows> Seek(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const std::string queue(*call.arguments.Text(1));
  const std::string group(*call.arguments.Text(2));
  const auto partition = call.arguments.Text(3);
  const Target target{std::string(*call.arguments.Text(4)), call.arguments.Time(5),
                      call.arguments.Int8(6)};
  const int32_t after = *call.arguments.Int4(7);
  const auto limit = static_cast<size_t>(*call.arguments.Int4(8));

  co_await transaction.NextStatement();
  auto queue_id = QueueNamed(transaction, catalog, queue);
  auto group_id = queue_id ? GroupNamed(transaction, catalog, *queue_id, group) : std::nullopt;
  const EarlyGroupKey early{queue, group};
  if (!group_id && catalog.early_groups.Find(transaction, early) != nullptr) {
    const auto made =
        co_await EnsureGroup(transaction, catalog, queue, group, StartMode::kAll, std::nullopt);
    if (made) group_id = made->group_id;
  }
  co_await transaction.NextStatement();
  std::vector<int32_t> ids;
  if (group_id) {
    const std::set<int32_t>& all = catalog.partitions_by_queue.Of(*queue_id);
    for (auto at = all.upper_bound(after); at != all.end() && ids.size() < limit; ++at) {
      const PartitionRow* row = catalog.partitions.Find(transaction, *at);
      if (row != nullptr && (!partition || *partition == row->name)) ids.push_back(*at);
    }
  }
  std::vector<std::pair<int32_t, int64_t>> moved;
  for (const int32_t id : ids) {
    const LaneId lane{id, *group_id};
    const int64_t cursor = co_await MoveLane(transaction, catalog, lane, target);
    moved.emplace_back(id, cursor);
  }
  if (!partition && group_id) {
    co_await MoveStart(transaction, catalog, *group_id, moved, target.mode == "end");
  }
  std::optional<int32_t> next;
  if (ids.size() == limit && !partition && !ids.empty()) next = ids.back();
  if (!partition && !next && group_id) {
    co_await transaction.NextStatement();
    (void)co_await catalog.groups.Update(transaction, *group_id, [&target](GroupRow& row) {
      row.start_mode = target.mode == "end"     ? StartMode::kNew
                       : target.mode == "after" ? StartMode::kTime
                                                : StartMode::kAll;
      row.start_time.reset();
      if (target.mode == "after") row.start_time = target.time.value_or(0) + 1;
    });
    std::set<int32_t> queues{*queue_id};
    co_await RaiseVersions(transaction, catalog, std::move(queues));
  }
  const auto count = static_cast<int32_t>(ids.size());
  co_await Announce(transaction, catalog, std::move(ids), 0);
  Answer answer({{"moved", oid::kInt4}, {"next_after", oid::kInt4}});
  answer.Int4(count).Int4(next);
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
