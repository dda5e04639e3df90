#include <algorithm>
#include <map>
#include <set>

#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {
namespace {

struct Held {
  size_t place = 0;  // of the lease
  LaneId lane;
};

// Partition, group and queue of a row of progress are there.
bool IsLive(const Transaction& reader, const Catalog& catalog, LaneId lane) {
  const PartitionRow* partition = catalog.partitions.Find(reader, lane.partition_id);
  const GroupRow* group = catalog.groups.Find(reader, lane.group_id);
  return partition != nullptr && group != nullptr && group->queue_id == partition->queue_id &&
         catalog.queues.Find(reader, partition->queue_id) != nullptr;
}

}  // namespace

Task<pg::Rows> RenewLease(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const Array<Uuid> leases = call.arguments.Uuids(1);
  const Array<int32_t> seconds = call.arguments.Int4s(2);
  const int64_t now = transaction.Now();
  transaction.set_asynchronous();

  co_await transaction.NextStatement();
  std::vector<Held> held;
  std::map<LaneId, std::pair<ProgressKey, ProgressRow>> next;  // with the most anyone asks for
  for (size_t i = 0; i < leases.size(); ++i) {
    std::set<LaneId> lanes;
    for (const ProgressKey& key : catalog.progress_by_lease.Of(leases.At(i))) {
      const ProgressRow* row = catalog.progress.Find(transaction, key);
      if (row != nullptr && row->lease_id == leases.At(i)) lanes.insert(key.lane);
    }
    for (const LaneId& lane : lanes) {
      if (!IsLive(transaction, catalog, lane)) continue;
      const auto [key, row] = NewestProgress(transaction, catalog, lane);
      if (row->lease_id != leases.At(i) || !(row->lease_until > now)) continue;
      const int64_t length =
          seconds.At(i) > 0 ? seconds.At(i) : std::max(row->lease_seconds.value_or(60), 60);
      const int64_t until = std::max(*row->lease_until, now + length * 1'000'000);
      const auto at = next.emplace(lane, std::pair(ProgressKey{lane, key->epoch + 1}, *row)).first;
      at->second.second.stamp = 0;
      at->second.second.lease_until = std::max(*at->second.second.lease_until, until);
      held.push_back({i, lane});
    }
  }
  std::set<LaneId> inserted;
  for (const auto& [lane, row] : next) {
    const bool won = co_await InsertProgress(transaction, catalog, row.first, row.second);
    if (won) inserted.insert(lane);
  }
  co_await transaction.NextStatement();
  std::set<LaneId> lost;
  for (const auto& [lane, row] : next) {
    if (inserted.count(lane) == 0) continue;
    const bool stale = co_await DropIfStale(transaction, catalog, row.first);
    if (stale) lost.insert(lane);
  }

  co_await transaction.NextStatement();
  Answer answer(
      {{"ordinal", oid::kInt4}, {"state", oid::kText}, {"lease_until", oid::kTimestampTz}});
  for (size_t i = 0; i < leases.size(); ++i) {
    bool any = false;
    bool again = false;
    std::optional<int64_t> until;
    for (const Held& one : held) {
      if (one.place != i) continue;
      any = true;
      if (inserted.count(one.lane) == 0 || lost.count(one.lane) > 0) again = true;
      if (inserted.count(one.lane) == 0) continue;
      const int64_t lane_until = *next.at(one.lane).second.lease_until;
      until = std::min(until.value_or(lane_until), lane_until);
    }
    const auto& keys = catalog.progress_by_lease.Of(leases.At(i));
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const ProgressKey& key) {
      const ProgressRow* row = catalog.progress.Find(transaction, key);
      return row != nullptr && row->lease_id == leases.At(i);
    });
    answer.Int4(static_cast<int32_t>(i + 1))
        .Text(again   ? "again"
              : any   ? "renewed"
              : known ? "expired"
                      : "unknown")
        .Time(until);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
