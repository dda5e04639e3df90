// The statements that look for names: find_partitions, find_pop_names.
#include "simulator/database/procedures/names.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {

Task<pg::Rows> FindPartitions(Call& call) {
  const Array<std::string_view> queues = call.arguments.Texts(1);
  const Array<std::string_view> partitions = call.arguments.Texts(2);
  Answer answer({{"ordinal", oid::kInt4},
                 {"queue_id", oid::kInt4},
                 {"partition_id", oid::kInt4},
                 {"encrypted", oid::kBool}});
  for (size_t i = 0; i < queues.size(); ++i) {
    const auto queue_id = QueueNamed(call.transaction, call.catalog, queues.At(i));
    if (!queue_id) continue;
    const auto partition_id =
        PartitionNamed(call.transaction, call.catalog, *queue_id, partitions.At(i));
    if (!partition_id) continue;
    answer.Int4(static_cast<int32_t>(i + 1))
        .Int4(*queue_id)
        .Int4(*partition_id)
        .Bool(call.catalog.queues.Find(call.transaction, *queue_id)->encryption_enabled);
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> FindPopNames(Call& call) {
  const Array<std::string_view> queues = call.arguments.Texts(1);
  const Array<std::string_view> groups = call.arguments.Texts(2);
  const Array<std::string_view> partitions = call.arguments.Texts(3);
  Answer answer({{"ordinal", oid::kInt4},
                 {"queue_id", oid::kInt4},
                 {"group_id", oid::kInt4},
                 {"partition_id", oid::kInt4},
                 {"early", oid::kBool}});
  for (size_t i = 0; i < queues.size(); ++i) {
    const auto queue_id = QueueNamed(call.transaction, call.catalog, queues.At(i));
    std::optional<int32_t> group_id;
    std::optional<int32_t> partition_id;
    bool early = false;
    if (queue_id) {
      group_id = GroupNamed(call.transaction, call.catalog, *queue_id, groups.At(i));
      if (partitions[i]) {
        partition_id = PartitionNamed(call.transaction, call.catalog, *queue_id, partitions.At(i));
      }
    } else {
      const EarlyGroupKey key{std::string(queues.At(i)), std::string(groups.At(i))};
      early = call.catalog.early_groups.Find(call.transaction, key) != nullptr;
    }
    answer.Int4(static_cast<int32_t>(i + 1))
        .Int4(queue_id)
        .Int4(group_id)
        .Int4(partition_id)
        .Bool(early);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
