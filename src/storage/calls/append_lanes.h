// append_lanes: the next row of each lane, stored only if the row it was decided from is still the
// newest. sql/procedures/append_lanes.sql has the contract.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/lane.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"

namespace queen::storage::append_lanes {

// A message that becomes a dead letter if the row of its lane is stored.
struct DeadLetter {
  int64_t seq = 0;
  std::optional<std::string> error;
  int32_t failures = 0;
};

struct Lane {
  PartitionId partition;
  GroupId group;

  // What the decision was made from.
  QueueId queue;
  int64_t version = 0;     // of the queue
  int64_t prev_epoch = 0;  // of the predecessor; 0: the lane has no row yet
  int64_t prev_stamp = 0;
  std::optional<int64_t> not_before_micros;  // not before this time
  bool held = false;                         // only while the predecessor's lease lives
  std::optional<int64_t> log_end;            // only while the log ends here

  // What is stored. Its epoch is not read: it follows the predecessor's.
  engine::Progress next;
  // The lease lives, or nothing is delivered, for so long from now, if that is later than `next`
  // says.
  std::optional<int64_t> lease_ms;
  std::optional<int64_t> ready_ms;
  bool frees = false;  // the lease has ended: others may have the partition
  std::vector<DeadLetter> dead;
};

// REQUIRES: no lane twice
struct Request {
  std::optional<int64_t> broker;  // who need not be told of freed partitions
  std::optional<int64_t> n;       // with `broker` the key of this transaction in the ledger
  bool sync = true;               // false: leases only, which a crash may forget
  std::vector<Lane> lanes;
};

enum class State {
  kWon,      // the new row is the newest
  kGone,     // partition, queue or group is no more
  kStale,    // the queue has another version: load the lane again
  kLost,     // another row is the newest
  kEarly,    // the predecessor stands, but the time has not come,
  kExpired,  // or its lease is over,
  kMoved,    // or the log ends elsewhere,
  kBusy,     // or another transaction is changing the lane
};

struct Row {
  size_t index = 0;  // of the lane in the request
  State state = State::kBusy;
  std::optional<engine::Progress> newest;  // of the lane, as it is now
  int64_t now_micros = 0;                  // PostgreSQL's clock, the same in all rows of a call
};

extern const pg::Statement kStatement;

pg::Params Encode(const Request& request);
// A row for each lane of the request.
Result<std::vector<Row>> Decode(const pg::Rows& rows);

}  // namespace queen::storage::append_lanes
