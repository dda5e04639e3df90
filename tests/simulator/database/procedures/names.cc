#include "simulator/database/procedures/names.h"

#include <algorithm>
#include <cassert>

#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/log.h"

namespace queen::simulator {
namespace {

// The row of `ids` that the statement sees.
template <typename Row>
std::optional<int32_t> Seen(const Transaction& reader, const Table<int32_t, Row>& table,
                            const std::set<int32_t>& ids) {
  for (const int32_t id : ids) {
    if (table.Find(reader, id) != nullptr) return id;
  }
  return std::nullopt;
}

// Inserts a row whose name is unique by an index: `ids` are those that have, or had, the name.
template <typename Row>
Task<bool> InsertNamed(Transaction& writer, Table<int32_t, Row>& table,
                       const std::set<int32_t>& ids, int32_t id, Row row) {
  for (bool waited = true; waited;) {
    waited = false;
    for (const int32_t other : ids) {
      const Xid blocker = table.BlockerOf(writer, other);
      if (blocker == 0) continue;
      co_await writer.WaitFor(blocker);
      waited = true;
      break;  // the set may be another now
    }
  }
  for (const int32_t other : ids) {
    if (table.Stands(writer, other)) co_return false;
  }
  const bool inserted = co_await table.Insert(writer, id, std::move(row));
  assert(inserted);
  co_return inserted;
}

// split_part(name, '.', n)
std::string PartOf(const std::string& name, int n) {
  size_t from = 0;
  for (int part = 1; part < n; ++part) {
    const size_t dot = name.find('.', from);
    if (dot == std::string::npos) return "";
    from = dot + 1;
  }
  return name.substr(from, name.find('.', from) - from);
}

Task<void> EnsureQueues(Transaction& writer, Catalog& catalog, std::vector<std::string> missing) {
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  std::vector<int32_t> born;
  for (const std::string& name : missing) {
    QueueRow row;
    row.name = name;
    row.queue_namespace = PartOf(name, 1);
    row.task = PartOf(name, 2);
    row.created_at = writer.Now();
    const auto id = co_await InsertQueue(writer, catalog, std::move(row));
    if (id) born.push_back(*id);
  }
  co_await writer.NextStatement();
  co_await JoinFamilies(writer, catalog, std::move(born), true);
}

}  // namespace

std::optional<int32_t> QueueNamed(const Transaction& reader, const Catalog& catalog,
                                  std::string_view name) {
  return Seen(reader, catalog.queues, catalog.queues_by_name.Of(std::string(name)));
}

std::optional<int32_t> PartitionNamed(const Transaction& reader, const Catalog& catalog,
                                      int32_t queue_id, std::string_view name) {
  return Seen(reader, catalog.partitions,
              catalog.partitions_by_name.Of({queue_id, std::string(name)}));
}

std::optional<int32_t> GroupNamed(const Transaction& reader, const Catalog& catalog,
                                  int32_t queue_id, std::string_view name) {
  return Seen(reader, catalog.groups, catalog.groups_by_name.Of({queue_id, std::string(name)}));
}

Task<std::optional<int32_t>> InsertQueue(Transaction& writer, Catalog& catalog, QueueRow row) {
  const auto id = static_cast<int32_t>(catalog.queue_ids.Next(writer.all().log()));
  const std::string name = row.name;
  catalog.queues_by_name.Add(name, id);
  const std::set<int32_t>& ids = catalog.queues_by_name.Of(name);
  const bool inserted = co_await InsertNamed(writer, catalog.queues, ids, id, std::move(row));
  if (inserted) co_return id;
  catalog.queues_by_name.Remove(name, id);
  co_return std::nullopt;
}

Task<std::optional<int32_t>> InsertPartition(Transaction& writer, Catalog& catalog,
                                             PartitionRow row) {
  const auto id = static_cast<int32_t>(catalog.partition_ids.Next(writer.all().log()));
  const std::pair<int32_t, std::string> name(row.queue_id, row.name);
  catalog.partitions_by_name.Add(name, id);
  const std::set<int32_t>& ids = catalog.partitions_by_name.Of(name);
  const bool inserted = co_await InsertNamed(writer, catalog.partitions, ids, id, std::move(row));
  if (!inserted) {
    catalog.partitions_by_name.Remove(name, id);
    co_return std::nullopt;
  }
  catalog.partitions_by_queue.Add(name.first, id);
  co_return id;
}

Task<std::optional<int32_t>> InsertGroup(Transaction& writer, Catalog& catalog, GroupRow row) {
  const auto id = static_cast<int32_t>(catalog.group_ids.Next(writer.all().log()));
  const std::pair<int32_t, std::string> name(row.queue_id, row.name);
  catalog.groups_by_name.Add(name, id);
  const std::set<int32_t>& ids = catalog.groups_by_name.Of(name);
  const bool inserted = co_await InsertNamed(writer, catalog.groups, ids, id, std::move(row));
  if (!inserted) {
    catalog.groups_by_name.Remove(name, id);
    co_return std::nullopt;
  }
  catalog.groups_by_queue.Add(name.first, id);
  co_return id;
}

std::optional<StartMode> StartModeOf(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  if (*text == "new") return StartMode::kNew;
  if (*text == "time") return StartMode::kTime;
  return StartMode::kAll;
}

Task<void> EnsureNames(Transaction& writer, Catalog& catalog,
                       const std::vector<std::pair<std::string, std::string>>& names) {
  co_await writer.NextStatement();
  std::vector<std::string> missing;
  for (const auto& [queue, partition] : names) {
    if (!QueueNamed(writer, catalog, queue)) missing.push_back(queue);
  }
  if (!missing.empty()) {
    co_await writer.NextStatement();
    co_await EnsureQueues(writer, catalog, std::move(missing));
    co_await writer.NextStatement();
  }
  std::vector<std::pair<int32_t, std::string>> partitions;
  for (const auto& [queue, partition] : names) {
    const auto queue_id = QueueNamed(writer, catalog, queue);
    if (queue_id && !PartitionNamed(writer, catalog, *queue_id, partition)) {
      partitions.emplace_back(*queue_id, partition);
    }
  }
  if (!partitions.empty()) {
    std::sort(partitions.begin(), partitions.end());
    partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
    for (const auto& [queue_id, partition] : partitions) {
      PartitionRow row;
      row.queue_id = queue_id;
      row.name = partition;
      (void)co_await InsertPartition(writer, catalog, std::move(row));
    }
  }
  co_await writer.NextStatement();
}

Task<std::optional<EnsuredGroup>> EnsureGroup(Transaction& writer, Catalog& catalog,
                                              std::string queue, std::string group,
                                              std::optional<StartMode> mode,
                                              std::optional<int64_t> time) {
  if (mode != StartMode::kTime) time.reset();
  co_await writer.NextStatement();
  const auto queue_id = QueueNamed(writer, catalog, queue);
  const auto known = queue_id ? GroupNamed(writer, catalog, *queue_id, group) : std::nullopt;
  if (!known && !mode) co_return std::nullopt;
  if (!queue_id) {
    EarlyGroupKey key{queue, group};
    EarlyGroupRow row{time};
    (void)co_await catalog.early_groups.Insert(writer, std::move(key), row);
    co_return std::nullopt;
  }
  if (known) co_return EnsuredGroup{*queue_id, *known};

  co_await writer.NextStatement();
  const EarlyGroupKey early_key{queue, group};
  std::optional<EarlyGroupRow> early;
  if (const EarlyGroupRow* row = catalog.early_groups.Find(writer, early_key)) {
    const EarlyGroupRow found = *row;
    if (co_await catalog.early_groups.Delete(writer, early_key)) early = found;
  }
  co_await writer.NextStatement();
  const QueueRow* queue_row = catalog.queues.Find(writer, *queue_id);
  std::map<int32_t, std::optional<int64_t>> families;  // id, start_time
  catalog.families.WalkAll(writer, [&](const FamilyKey& key, const FamilyRow& row) {
    if (key.group_name == group && queue_row != nullptr && key.Holds(*queue_row) &&
        catalog.family_queues.Find(writer, {*queue_id, row.id}) == nullptr) {
      families.emplace(row.id, row.start_time);
    }
    return true;
  });
  for (const auto& family : families) {
    const FamilyQueueKey key{*queue_id, family.first};
    (void)co_await catalog.family_queues.Insert(writer, key, FamilyQueueRow());
  }
  GroupRow row{*queue_id, group, *mode, time};
  if (early || !families.empty()) {
    row.start_time = early ? early->start_time : families.begin()->second;
    row.start_mode = row.start_time ? StartMode::kTime : StartMode::kAll;
  }
  const StartMode start_mode = row.start_mode;
  co_await writer.NextStatement();
  const auto made = co_await InsertGroup(writer, catalog, std::move(row));
  co_await writer.NextStatement();
  if (!made) {  // another pop made it meanwhile, and its record wins
    const auto theirs = GroupNamed(writer, catalog, *queue_id, group);
    co_return EnsuredGroup{*queue_id, theirs.value_or(0)};
  }
  if (start_mode == StartMode::kNew) {
    const std::set<int32_t> partition_ids = catalog.partitions_by_queue.Of(*queue_id);
    for (const int32_t partition_id : partition_ids) {
      if (catalog.partitions.Find(writer, partition_id) == nullptr) continue;
      const auto end = EndOfLog(writer, catalog, partition_id);
      if (!end) continue;
      const GroupStartKey key{*made, partition_id};
      (void)co_await catalog.group_starts.Insert(writer, key, GroupStartRow{end->seq_end});
    }
  }
  co_return EnsuredGroup{*queue_id, *made};
}

Task<void> JoinFamilies(Transaction& writer, Catalog& catalog, std::vector<int32_t> queue_ids,
                        bool born) {
  struct Join {
    std::string queue;
    std::string group;
    int32_t family_id;
    int32_t queue_id;
    StartMode mode;
    std::optional<int64_t> time;
    bool later;
    auto Order() const { return std::tie(queue, group, family_id); }
  };
  std::vector<Join> joins;
  for (const int32_t id : queue_ids) {
    const QueueRow* queue = catalog.queues.Find(writer, id);
    if (queue == nullptr) continue;
    catalog.families.WalkAll(writer, [&](const FamilyKey& key, const FamilyRow& row) {
      if (key.Holds(*queue) && catalog.family_queues.Find(writer, {id, row.id}) == nullptr) {
        joins.push_back({queue->name, key.group_name, row.id, id, row.start_mode, row.start_time,
                         born || queue->created_at > row.created_at});
      }
      return true;
    });
  }
  std::sort(joins.begin(), joins.end(),
            [](const Join& a, const Join& b) { return a.Order() < b.Order(); });
  for (const Join& join : joins) {
    if (join.later) {
      (void)co_await EnsureGroup(writer, catalog, join.queue, join.group, join.mode, join.time);
    }
    const FamilyQueueKey key{join.queue_id, join.family_id};
    (void)co_await catalog.family_queues.Insert(writer, key, FamilyQueueRow());
    (void)co_await EnsureGroup(writer, catalog, join.queue, join.group, join.mode, join.time);
  }
  std::vector<int32_t> marks;
  for (const int32_t id : queue_ids) marks.push_back(-id);
  co_await Announce(writer, catalog, std::move(marks), 0);
}

}  // namespace queen::simulator
