// Queues, partitions and groups by name, and making them: what find_partitions, ensure_partitions,
// ensure_group and find_family share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "simulator/database/catalog.h"

namespace queen::simulator {

std::optional<int32_t> QueueNamed(const Transaction& reader, const Catalog& catalog,
                                  std::string_view name);
std::optional<int32_t> PartitionNamed(const Transaction& reader, const Catalog& catalog,
                                      int32_t queue_id, std::string_view name);
std::optional<int32_t> GroupNamed(const Transaction& reader, const Catalog& catalog,
                                  int32_t queue_id, std::string_view name);

// INSERT .. ON CONFLICT DO NOTHING RETURNING id: nullopt where the name is taken, after waiting for
// whoever has not ended. The id is used up either way.
Task<std::optional<int32_t>> InsertQueue(Transaction& writer, Catalog& catalog, QueueRow row);
Task<std::optional<int32_t>> InsertPartition(Transaction& writer, Catalog& catalog,
                                             PartitionRow row);
Task<std::optional<int32_t>> InsertGroup(Transaction& writer, Catalog& catalog, GroupRow row);

struct EnsuredGroup {
  int32_t queue_id = 0;
  int32_t group_id = 0;
};
// queen.ensure_group. `mode` nullopt: the group is only looked for.
Task<std::optional<EnsuredGroup>> EnsureGroup(Transaction& writer, Catalog& catalog,
                                              std::string queue, std::string group,
                                              std::optional<StartMode> mode,
                                              std::optional<int64_t> time);

// queen.join_families of queues that were just made.
Task<void> JoinFamilies(Transaction& writer, Catalog& catalog, std::vector<int32_t> queue_ids,
                        bool born);

// queen.ensure_partitions for one after the other; in one call, as there.
Task<void> EnsureNames(Transaction& writer, Catalog& catalog,
                       const std::vector<std::pair<std::string, std::string>>& names);

std::optional<StartMode> StartModeOf(std::optional<std::string_view> text);

}  // namespace queen::simulator
