// The statements that make what is missing: ensure_partitions, ensure_groups, find_family.
#include <algorithm>
#include <tuple>

#include "simulator/database/procedures/names.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {

Task<pg::Rows> EnsurePartitions(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const Array<std::string_view> queues = call.arguments.Texts(1);
  const Array<std::string_view> partitions = call.arguments.Texts(2);
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<bool> stood;      // whether the queue was there when the statement began
  std::vector<bool> encrypted;  // as it was then
  for (size_t i = 0; i < queues.size(); ++i) {
    names.emplace_back(queues.At(i), partitions.At(i));
    const auto queue_id = QueueNamed(transaction, catalog, queues.At(i));
    stood.push_back(queue_id.has_value());
    encrypted.push_back(queue_id &&
                        catalog.queues.Find(transaction, *queue_id)->encryption_enabled);
  }
  co_await EnsureNames(transaction, catalog, names);
  Answer answer({{"ordinal", oid::kInt4},
                 {"queue_id", oid::kInt4},
                 {"partition_id", oid::kInt4},
                 {"coalesce", oid::kBool},
                 {"?column?", oid::kBool}});
  for (size_t i = 0; i < names.size(); ++i) {
    const auto queue_id = QueueNamed(transaction, catalog, names[i].first);
    if (!queue_id) continue;
    const auto partition_id = PartitionNamed(transaction, catalog, *queue_id, names[i].second);
    if (!partition_id) continue;
    answer.Int4(static_cast<int32_t>(i + 1))
        .Int4(*queue_id)
        .Int4(*partition_id)
        .Bool(encrypted[i])
        .Bool(!stood[i]);
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> EnsureGroups(Call& call) {
  const Array<std::string_view> queues = call.arguments.Texts(1);
  const Array<std::string_view> groups = call.arguments.Texts(2);
  const Array<std::string_view> modes = call.arguments.Texts(3);
  const Array<int64_t> times = call.arguments.Times(4);
  std::vector<size_t> order(queues.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_tuple(queues.At(a), groups.At(a), a) <
           std::make_tuple(queues.At(b), groups.At(b), b);
  });
  Answer answer({{"ordinal", oid::kInt4}, {"queue_id", oid::kInt4}, {"group_id", oid::kInt4}});
  for (const size_t i : order) {
    std::string queue(queues.At(i));
    std::string group(groups.At(i));
    const auto made = co_await EnsureGroup(call.transaction, call.catalog, std::move(queue),
                                           std::move(group), StartModeOf(modes[i]), times[i]);
    if (!made) continue;
    answer.Int4(static_cast<int32_t>(i + 1)).Int4(made->queue_id).Int4(made->group_id);
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> FindFamily(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  FamilyKey key;
  if (call.arguments.Text(1)) key.queue_namespace = std::string(*call.arguments.Text(1));
  if (call.arguments.Text(2)) key.task = std::string(*call.arguments.Text(2));
  key.group_name = std::string(*call.arguments.Text(3));
  const auto mode = StartModeOf(call.arguments.Text(4));
  const auto time = call.arguments.Time(5);
  const auto members = [&](std::vector<std::pair<std::string, int32_t>>& found) {
    catalog.queues.WalkAll(transaction, [&](int32_t id, const QueueRow& row) {
      if (key.Holds(row)) found.emplace_back(row.name, id);
      return true;
    });
    std::sort(found.begin(), found.end());
  };

  co_await transaction.NextStatement();
  if (catalog.families.Find(transaction, key) == nullptr) {
    co_await transaction.NextStatement();
    FamilyRow row;
    row.id = static_cast<int32_t>(catalog.family_ids.Next(transaction.all().log()));
    row.start_mode = *mode;
    if (*mode == StartMode::kTime) row.start_time = time;
    row.created_at = transaction.Now();
    const int32_t family_id = row.id;
    const bool recorded = co_await catalog.families.Insert(transaction, key, row);
    co_await transaction.NextStatement();
    std::vector<std::pair<std::string, int32_t>> queues;
    members(queues);
    for (const auto& queue : queues) {
      if (!recorded) break;
      const FamilyQueueKey place{queue.second, family_id};
      (void)co_await catalog.family_queues.Insert(transaction, place, FamilyQueueRow());
    }
  }
  co_await transaction.NextStatement();
  std::vector<std::pair<std::string, int32_t>> queues;
  members(queues);
  std::vector<std::string> without;
  for (const auto& [name, id] : queues) {
    if (!GroupNamed(transaction, catalog, id, key.group_name)) without.push_back(name);
  }
  for (const std::string& name : without) {
    (void)co_await EnsureGroup(transaction, catalog, name, key.group_name, mode, time);
  }
  co_await transaction.NextStatement();
  queues.clear();
  members(queues);
  const auto priority_of = [&](int32_t id) {
    return catalog.queues.Find(transaction, id)->priority;
  };
  std::stable_sort(queues.begin(), queues.end(), [&](const auto& a, const auto& b) {
    return priority_of(a.second) > priority_of(b.second);
  });
  Answer answer({{"queue_id", oid::kInt4}, {"queue_name", oid::kText}, {"priority", oid::kInt4}});
  for (const auto& [name, id] : queues) answer.Int4(id).Text(name).Int4(priority_of(id));
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
