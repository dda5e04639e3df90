// Verdicts on delivered messages: queen.ack_messages as other procedures call it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/database/catalog.h"
#include "simulator/database/procedures/bits.h"

namespace queen::simulator {

// A single verdict.
struct AckItem {
  int64_t seq = 0;
  std::string kind;  // failed, dlq, retry, cumulative, before
  std::optional<std::string> error;
};

// One row of the key arrays, with its items.
struct AckKey {
  LaneId lane;
  std::optional<Uuid> lease;
  int64_t base = 0;
  Bits done;
  std::optional<int64_t> cumulative;
  std::optional<int64_t> retry_from;
  std::optional<bool> ends;
  std::vector<AckItem> items;
};

// What verdicts come to: queen.apply_verdicts.
struct Verdict {
  int64_t new_cursor = 0;
  Bits new_settled;
  Bits new_failed;
  bool released = false;
  bool any_failed = false;
  std::vector<int64_t> tried_seqs;
  std::vector<int32_t> tried_counts;
  std::vector<DeadLetterKey> dead;
  std::vector<std::optional<std::string>> dead_errors;
  std::vector<int32_t> dead_counts;
};
// REQUIRES: `row` has a lease
Verdict ApplyVerdicts(const ProgressRow& row, int32_t retry_limit, const AckKey& key);

struct AckRow {
  std::string state;  // applied, refused, again, gone
  std::optional<int64_t> cursor;
  Bits settled;
  Bits failed;
  std::optional<int64_t> lease_end;
  std::optional<int64_t> new_cursor;
  std::optional<bool> released;
  std::vector<int64_t> dead_seqs;
};
// A row for each key, in their order.
Task<std::vector<AckRow>> AckMessages(Transaction& writer, Catalog& catalog,
                                      std::optional<int64_t> broker, std::optional<int64_t> n,
                                      const std::vector<AckKey>& keys);

}  // namespace queen::simulator
