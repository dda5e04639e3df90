// queen.push_messages as other procedures call it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/database/arguments.h"
#include "simulator/database/catalog.h"

namespace queen::simulator {

inline constexpr int32_t kPartitionLockClass = 1903521134;
inline constexpr int32_t kLaneLockClass = 1903521135;

// The parameters of the same names; one element of each array is one segment.
struct PushRequest {
  std::optional<int64_t> broker;
  std::optional<int64_t> n;
  bool wait = false;
  Array<int32_t> partitions;
  Array<int32_t> counts;
  Array<std::string_view> payloads;
  Array<std::string_view> txns;
  Array<std::string_view> metas;
  Array<std::string_view> txn_mins;
  Array<std::string_view> txn_maxs;
  Array<int64_t> time_mins;
  Array<int64_t> time_maxs;
  Array<bool> untimed;
  Array<int64_t> known_froms;
  Array<int64_t> known_tos;
  Array<bool> encrypted;
  bool known_untimed = false;
};

// The first 17 parameters of a call.
PushRequest ReadPushRequest(const Arguments& in);

struct PushedRow {
  int32_t ordinal = 0;
  std::string status;
  int64_t base_seq = 0;
  int64_t created_at = 0;
  std::optional<int32_t> line;
};

Task<std::vector<PushedRow>> Push(Transaction& writer, Catalog& catalog,
                                  const PushRequest& request);

// queen.lock_partitions
Task<void> LockPartitions(Transaction& writer, const Array<int32_t>& partitions);

// queen.index_untimed: whether something was indexed.
Task<bool> IndexPartition(Transaction& writer, Catalog& catalog, int32_t partition_id);

}  // namespace queen::simulator
