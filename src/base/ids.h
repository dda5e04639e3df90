// Ids: integers in PostgreSQL, UUIDs for clients, and the arithmetic between the two.
//
//   message id    UUIDv7: 48 bits of created_at's milliseconds | version | partition and seq
//                 74 free bits = 31 bits of partition id, then 43 bits of seq; ids of one partition
//                 sort in delivery order because created_at rises with seq.
//   partition id  and queue id: a UUIDv8 with a tag for the kind and the integer in its last bits.
//
// SQL has the same packing (sql/procedures/ids.sql); ids_test and sql/tests hold both to one table.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/uuid.h"

namespace queen {

struct QueueId {
  int32_t value = 0;
  auto operator<=>(const QueueId&) const = default;
};
struct PartitionId {
  int32_t value = 0;
  auto operator<=>(const PartitionId&) const = default;
};
struct GroupId {
  int32_t value = 0;
  auto operator<=>(const GroupId&) const = default;
};

constexpr int64_t kSeqMax = (int64_t{1} << 43) - 1;

struct MessageId {
  int64_t created_millis = 0;
  PartitionId partition;
  int64_t seq = 0;
  auto operator<=>(const MessageId&) const = default;
};

// REQUIRES: 0 <= created_millis < 2^48, 0 < partition, 0 <= seq <= kSeqMax
Uuid EncodeMessageId(const MessageId& id);
// nullopt for a UUID that is no message id of ours.
std::optional<MessageId> DecodeMessageId(const Uuid& uuid);

Uuid EncodeQueueId(QueueId id);
Uuid EncodePartitionId(PartitionId id);
std::optional<QueueId> DecodeQueueId(const Uuid& uuid);
std::optional<PartitionId> DecodePartitionId(const Uuid& uuid);

}  // namespace queen
