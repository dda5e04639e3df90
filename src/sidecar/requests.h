// What the API asks of the engine and what it gets back: one request type per operation. A request
// is parsed and valid when it arrives here (api/ refuses the rest), and its `done` runs exactly
// once on the loop that submitted it. A Status instead of a result means that the whole request
// failed and nothing of it is known to be stored (a 503 for the caller, who may repeat it); where
// only some items met trouble each of them says so (answers.h). The engine carries a request's
// `trace` and does not look at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json_scratch.h"
#include "base/status.h"
#include "base/trace_context.h"
#include "base/unique_function.h"
#include "base/uuid.h"
#include "sidecar/reply_room.h"
#include "storage/segment.h"

namespace queen::sidecar {

inline constexpr std::string_view kQueueModeGroup = "__QUEUE_MODE__";
inline constexpr std::string_view kDefaultPartition = "Default";

// ---- push

// Views into the request's body or scratch.
struct PushItem {
  std::string_view queue;
  std::string_view partition;
  std::string_view payload;  // the JSON text as it came; its LF and CR become spaces when stored
  std::string_view txn;      // transactionId, "" = none was given
  std::string meta;          // one line of JSON, or "" (storage/meta.h)
  std::string error;         // not empty: refused already, answered `failed` with this text
};

struct PushOutcome {
  enum class Status { kQueued, kDuplicate, kBuffered, kFailed };
  Status status = Status::kFailed;
  MessageId id;       // kQueued: of this message; kDuplicate: of the stored one
  std::string error;  // kFailed
  Uuid made_txn{};    // kBuffered: the transactionId of a message that came without one
};

struct PushRequest {
  std::string body;
  JsonScratch scratch;
  std::vector<PushItem> items;
  // From the file buffer: of one partition, every item has a transactionId, and it goes ahead of
  // what was pushed since. It has no deadline; `failed` says that PostgreSQL will never take it.
  bool replay = false;
  RequestTrace trace;
  // One outcome per item, in order.
  UniqueFunction<void(PushRequest&, Result<std::vector<PushOutcome>>)> done;
};

// ---- pop

enum class StartMode { kAll, kNew, kTime };

// As SQL calls it.
constexpr std::string_view ModeName(StartMode mode) {
  return mode == StartMode::kNew ? "new" : mode == StartMode::kTime ? "time" : "all";
}

struct PopRequest {
  std::string queue;
  std::optional<std::string> partition;  // nullopt: any partition
  // Without a queue: any queue of this namespace and/or task.
  std::optional<std::string> namespace_name;
  std::optional<std::string> task;
  std::string group{kQueueModeGroup};
  int32_t batch = 1;           // 1..10000
  int32_t partitions_max = 1;  // of a wildcard pop
  int32_t lease_seconds = 0;   // 0: the queue's
  bool auto_ack = false;
  StartMode start_mode = StartMode::kAll;
  int64_t start_micros = 0;  // kTime
  int64_t wait_ms = 0;       // 0: answer at once
  RequestTrace trace;

  // Inside the engine only, where a family's pop asks one of its queues (family_pops.h):
  bool member = false;    // the group was recorded by the family; it is not made here
  bool look = false;      // takes nothing, only tells that there is something
  int64_t within_ms = 0;  // of one that does not wait: its deadline, 0 = the usual one

  bool OfFamily() const { return namespace_name.has_value() || task.has_value(); }
  // One text for a family and a group. REQUIRES: OfFamily()
  std::string FamilyKey() const {
    std::string key = group;
    for (const auto* name : {&namespace_name, &task}) {
      key += *name ? '\1' : '\0';
      key += name->value_or("");
    }
    return key;
  }
};

// What one partition gave: offsets [cursor, end) without those set in `settled`.
struct Delivery {
  PartitionId partition;
  int32_t group_id = 0;
  std::string queue_name;
  std::string partition_name;
  int64_t cursor = 0;
  int64_t end = 0;
  std::string settled;  // "0110..." counted from cursor; shorter = zeros
  std::vector<std::pair<int64_t, int32_t>> failures;  // seq -> how often it has failed
  std::vector<storage::SegmentPtr> segments;          // in order, covering [cursor, end)

  // Whether the message at `seq` is part of this delivery. REQUIRES: cursor <= seq < end
  bool Delivers(int64_t seq) const {
    const auto place = static_cast<size_t>(seq - cursor);
    return place >= settled.size() || settled[place] == '0';
  }
};

// How a lease has ended: all below `cursor` is settled (0: not known), and what is left may be had
// after `ready_in_ms`.
struct LeaseEnd {
  int64_t cursor = 0;
  int64_t ready_in_ms = 0;
};

struct PopResult {
  Uuid lease_id;
  bool leased = false;               // false with autoAck: there is no lease
  std::vector<Delivery> deliveries;  // empty: nothing was there
  bool found = false;                // of a look: something is there
  bool gone = false;                 // of a member: the queue, or its group, does not exist
  bool crowded = false;              // of a look: there are too many of them
  bool parked = false;               // it waited for something to become ready
  std::shared_ptr<TakenRoom> room;   // for the reply, until its connection has it
};

using PopDone = UniqueFunction<void(Result<PopResult>)>;

// ---- ack

enum class Verdict { kCompleted, kFailed, kDeadLetter, kRetry };

struct AckItem {
  std::optional<PartitionId> partition;  // nullopt: no id of ours, so "Message not found"
  std::string txn;
  std::string group{kQueueModeGroup};
  std::optional<Uuid> lease_id;  // nullopt: the current lease
  Verdict verdict = Verdict::kCompleted;
  bool cumulative = false;
  std::string message;  // the error text of a failure
  std::string error;    // not empty: refused already, answered success:false with this text
};

struct AckOutcome {
  bool success = false;
  std::string error;  // "" when success
  std::string queue_name;
  std::string partition_name;
  bool lease_released = false;
  bool dead_lettered = false;
};

struct AckRequest {
  std::vector<AckItem> items;
  RequestTrace trace;
  // One outcome per item, in order.
  UniqueFunction<void(AckRequest&, Result<std::vector<AckOutcome>>)> done;
};

// ---- transaction

struct TransactionAck {
  AckItem item;
  bool group_of_lease = false;  // no group was named: it is that of the lease, not item.group
};

struct TransactionResult {
  struct Cycle {
    std::string queue_name;  // of the partition
    int32_t settled = 0;     // how many messages the verdict was about
    bool released = false;
  };

  // Not ok: why it was refused, and nothing is applied.
  Status refusal;
  std::string reason;               // the transactionId of the push or ack that was refused
  std::vector<MessageId> pushed;    // one per push
  std::vector<bool> dead_lettered;  // one per ack
  Cycle cycle;                      // of a cycle
};

// A cycle of a streaming query: a transaction with state. It has one ack, cumulative, which names
// the partition; without a transactionId there is nothing to settle.
struct StreamCycle {
  struct StateOp {
    std::string_view key;
    std::optional<std::string_view> value;  // JSON text; nullopt: the key is removed
    std::string window_end;                 // a number, "" for none
  };
  Uuid query_id;
  bool release = true;  // end the lease of the ack, settled or not
  std::vector<StateOp> ops;
};

// Pushes and acks, all or nothing.
struct TransactionRequest {
  std::string body;
  JsonScratch scratch;
  std::vector<PushItem> pushes;  // none refused already
  std::vector<TransactionAck> acks;
  std::vector<Uuid> required_leases;  // an ack that names no lease must be held under one of them
  std::optional<StreamCycle> cycle;
  RequestTrace trace;
  UniqueFunction<void(TransactionRequest&, Result<TransactionResult>)> done;
};

// ---- streams

struct StreamQueryRequest {
  std::string name;
  std::string source_queue;
  std::string sink_queue;  // "" = none
  std::string config_hash;
  bool reset = false;
};

struct StreamQueryResult {
  Uuid id;
  bool fresh = false;
  bool reset = false;
};

// kConflict when the query is there with another config_hash.
using StreamQueryDone = UniqueFunction<void(Result<StreamQueryResult>)>;

struct StreamStateRequest {
  Uuid query_id;
  PartitionId partition;
  std::vector<std::string> keys;  // none: all
  std::string key_prefix;
  std::string ripe_at;  // a number, "" for all
  int64_t bytes_max = INT64_MAX;
};

struct StreamStateRow {
  std::string key;
  std::string value;  // JSON text
  int64_t updated_micros = 0;
};

struct StreamState {
  int64_t bytes = 0;  // of all rows, as JSON at most; above bytes_max there are none here
  std::vector<StreamStateRow> rows;
};

using StreamStateDone = UniqueFunction<void(Result<StreamState>)>;

// ---- lease

struct RenewRequest {
  Uuid lease_id;
  int32_t seconds = 0;  // 0: the lease's own length, at least 60
};

struct RenewResult {
  enum class State { kRenewed, kExpired, kUnknown };
  State state = State::kUnknown;
  int64_t until_micros = 0;  // kRenewed: the earliest of its partitions'
};

using RenewDone = UniqueFunction<void(Result<RenewResult>)>;

// ---- the engine, as the API sees it

// Stops a pop whose client has gone: no lease is taken for it, or it is given back. What an
// automatic ack has settled by then is lost, as nobody is left to take it.
using CancelPop = UniqueFunction<void()>;

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void Push(PushRequest request) = 0;
  // The function returned may be called until `done` has run, and then does nothing.
  virtual CancelPop Pop(PopRequest request, PopDone done) = 0;
  // Nobody will take what a pop of `group` was answered: leases are given back at once. What an
  // automatic ack has settled stays settled.
  virtual void GiveBack(std::string group, PopResult result) = 0;
  virtual void Ack(AckRequest request) = 0;
  virtual void Transaction(TransactionRequest request) = 0;
  virtual void RegisterStreamQuery(StreamQueryRequest request, StreamQueryDone done) = 0;
  virtual void GetStreamState(StreamStateRequest request, StreamStateDone done) = 0;
  virtual void Renew(RenewRequest request, RenewDone done) = 0;
  // Administration changed this queue (nullopt: any of them): nothing that is believed of it holds,
  // for every pop made after this call.
  virtual void QueueChanged(const std::optional<std::string>& queue) = 0;
};

}  // namespace queen::sidecar
