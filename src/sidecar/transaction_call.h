// TransactionCall: one transaction on its way, and how it is said to PostgreSQL and read back. What
// is sent when, and what follows, is transaction.h's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pg/batch.h"
#include "sidecar/push_batch.h"
#include "state/delivered_index.h"

namespace queen::sidecar {

struct TransactionCall {
  enum class Stage { kPreparing, kExecuting, kDoubtful };
  struct Part {
    std::string_view queue;
    std::string_view name;
    std::vector<uint32_t> items;
    std::optional<PartitionId> id;
    bool encrypted = false;  // its queue, when it was looked up
    PushWork work;
  };
  struct Target {
    state::AckTarget found;
    std::string group;
  };

  TransactionRequest request;
  std::shared_ptr<PushCall> pushes;  // has the items while the call is under way
  std::vector<Part> parts;
  std::vector<std::pair<size_t, size_t>> segments;  // ordinal - 1 -> part, segment
  std::vector<Target> targets;                      // one per ack
  std::vector<uint32_t> unknown_acks;               // their targets are not known yet
  Stage stage = Stage::kPreparing;
  int64_t n = 0;  // of the attempt
  int attempts = 0;
  int64_t pause_ms = 0;
  int64_t deadline_ms = 0;
  int64_t items = 0;
  size_t bytes = 0;
  bool counted = false;  // its pushes are on their way in the QueueCapacity
};

// The names of the partitions it pushes to, as parameters.
pg::Params NamesOfParts(const TransactionCall& call);
// Finds the partitions, and the messages that are not known yet.
pg::Batch PrepareBatch(const TransactionCall& call);
// The next attempt: lays out the segments, those of encrypted queues with `cipher`.
// REQUIRES: every part has its id
pg::Batch ExecuteBatch(TransactionCall& call, int64_t broker, const storage::PayloadCipher& cipher);
// Whether the last attempt committed, and which of the acks are dead letters.
pg::Batch ResolveBatch(const TransactionCall& call, int64_t broker);

// The ids of a stored segment's messages.
void TakeSegment(const TransactionCall& call, size_t ordinal, int64_t base_seq, int64_t created,
                 TransactionResult& result);
// The ids of what a committed attempt pushed, from its row in the ledger. False: it is not all
// there.
bool TakePlaces(const TransactionCall& call, const pg::Rows& rows, TransactionResult& result);

}  // namespace queen::sidecar
