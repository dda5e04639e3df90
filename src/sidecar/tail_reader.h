// TailReader: what others have committed, read from the ledger of batches (tail_batches.sql)
// against the snapshot of the read before. One read is in flight at a time and serves everybody who
// asked before it was sent; whoever asks later waits for the next one, so an answer is never older
// than the question: what another broker has answered before the question is in it.
//
//   unknown --first read--> known --read--> known
//      ^                      | a connection was lost, or none was read for too long (the sweep may
//      +----------------------+ have taken what was not read)
//
// A new generation begins whenever the chain of reads is broken, also when there is more news than
// one read tells. Who relies on having heard of everything (a complete ring) looks at the database
// once in each generation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "pg/batch.h"
#include "pg/params.h"

namespace queen::sidecar {

// The names the workers of one process have in the ledger.
struct OwnBrokers {
  int64_t first = 0;
  int64_t last = 0;
};

struct QueueNews {
  int32_t queue_id = 0;
  bool everything = false;  // what is believed of the queue no longer holds, or it was just made
  // With `everything`, of a queue that is there. A queue_id of 0 stands for all families.
  std::optional<std::string> namespace_name;
  std::optional<std::string> task;
  std::vector<PartitionId> partitions;
};

class TailReader {
 public:
  static constexpr int32_t kBatchesMax = 10'000;
  // Far below the time for which batches are kept.
  static constexpr int64_t kPauseMaxMs = 30'000;

  explicit TailReader(OwnBrokers own) : own_(own) {}

  // The number of the first read that begins after this call.
  int64_t Ask() {
    wanted_ = true;
    return begun_ + 1;
  }
  bool HasWork() const { return wanted_ && !in_flight_; }

  // The parameters of the read to be sent now. REQUIRES: HasWork()
  pg::Params Begin(int64_t now_ms);
  // The answer of the read begun last. Not ok: nothing was learned, the next read tells it.
  Result<std::vector<QueueNews>> End(const pg::BatchResult& result);
  // What was read before cannot be trusted.
  void Drop();

  // The last read that has ended.
  int64_t done() const { return done_; }
  // When the last read was sent.
  int64_t begun_ms() const { return sent_ms_; }
  bool known() const { return !since_.empty(); }
  int64_t generation() const { return generation_; }

 private:
  const OwnBrokers own_;
  bool wanted_ = false;
  bool in_flight_ = false;
  int64_t begun_ = 0;
  int64_t done_ = 0;
  int64_t generation_ = 1;
  int64_t sent_generation_ = 0;
  int64_t sent_ms_ = 0;
  std::string since_;  // a pg_snapshot as text, "" = unknown
};

}  // namespace queen::sidecar
