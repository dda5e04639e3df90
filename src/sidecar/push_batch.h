// PushBatch: the items of one push transaction and their way into parameters and back. For each
// partition the lines in order, cut into segments of at most kSegmentBytesMax (or one message), and
// the lines left out because the same transactionId stands earlier in the same batch.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pg/params.h"
#include "sidecar/dedup_memory.h"
#include "sidecar/requests.h"
#include "storage/lines.h"
#include "storage/payload_cipher.h"

namespace queen::sidecar {

inline constexpr size_t kSegmentBytesMax = size_t{1} << 20;

// One push request on its way: answered when `open` items are decided.
struct PushCall {
  PushRequest request;
  std::vector<PushOutcome> outcomes;
  std::vector<bool> decided;
  size_t open = 0;
  int64_t deadline_ms = 0;
  Status trouble;        // why items failed through no fault of theirs
  bool counted = false;  // its items are on their way in the QueueCapacity
};

// The items of one call for one partition; they become visible together.
struct PushGroup {
  std::shared_ptr<PushCall> call;
  std::vector<uint32_t> items;
  size_t bytes = 0;
  bool alone = false;  // a batch with it was refused: it goes by itself, to find whose fault it was
  bool ahead = false;  // goes before what its partition has in the file buffer, or comes from there
};

// One item of a call: where an outcome belongs.
struct PushLine {
  PushCall* call;
  uint32_t item;
  const PushItem& get() const { return call->request.items[item]; }
};

struct PushSegment {
  size_t first_line = 0;
  std::shared_ptr<storage::Segment> segment;  // base_seq and created_micros come with the answer
  std::string_view txn_min;
  std::string_view txn_max;
  std::vector<std::string_view> timed_txns;
  std::vector<uint64_t> untimed_hashes;  // of the others (KeyedHash)
  std::optional<int64_t> time_min;
  std::optional<int64_t> time_max;
  bool encrypted = false;
};

// What one partition contributes to a batch.
struct PushWork {
  std::vector<PushGroup> groups;
  std::vector<PushLine> lines;
  std::vector<PushSegment> segments;
  // Lines whose transactionId is that of an earlier line.
  std::vector<std::pair<PushLine, size_t>> twins;

  // Lays out the undecided items of `groups`, their payloads as they are to be stored.
  // REQUIRES: called once, `groups` is complete; `encrypt` only if the cipher can
  void Lay(PartitionId partition, const storage::PayloadCipher& cipher, bool encrypt);
  // REQUIRES: the segments are stored and have their places
  MessageId IdOfLine(size_t line) const;
};

// The parallel arrays of push_messages.
class PushParams {
 public:
  explicit PushParams(size_t segments);
  // `known` is what the caller has compared with; an empty memory covers nothing.
  void Add(PartitionId partition, const PushSegment& segment, int64_t known_from, int64_t known_to);
  // `more`: room for as many parameters behind them.
  pg::Params Take(int64_t broker, int64_t n, size_t more = 0) &&;
  // Only what describes the segments, from partitions to untimed: ten parameters.
  void TakeSegments(pg::Params& params);
  pg::BoolArray TakeEncrypted() { return std::move(encrypted_); }
  size_t size() const { return count_; }

 private:
  size_t count_ = 0;
  pg::Int4Array partitions_;
  pg::Int4Array counts_;
  pg::TextArray payloads_;
  pg::TextArray txns_;
  pg::TextArray metas_;
  pg::TextArray txn_mins_;
  pg::TextArray txn_maxs_;
  pg::TimestampTzArray time_mins_;
  pg::TimestampTzArray time_maxs_;
  pg::BoolArray untimed_;
  pg::Int8Array known_froms_;
  pg::Int8Array known_tos_;
  pg::BoolArray encrypted_;
};

}  // namespace queen::sidecar
