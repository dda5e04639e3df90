// Segment: one row of the log in memory, immutable once made. Columns hold one line per message
// (storage/lines.h); an empty txns or meta column means that no message has any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"

namespace queen::storage {

struct Segment {
  PartitionId partition;
  int64_t base_seq = 0;
  int32_t count = 0;
  int64_t created_micros = 0;  // of the first message; message i was created i microseconds later
  std::string payloads;
  std::string txns;
  std::string meta;

  int64_t end_seq() const { return base_seq + count; }
  size_t bytes() const { return payloads.size() + txns.size() + meta.size(); }
  // REQUIRES: base_seq <= seq < end_seq()
  int64_t CreatedMicros(int64_t seq) const { return created_micros + (seq - base_seq); }
};

using SegmentPtr = std::shared_ptr<const Segment>;

}  // namespace queen::storage
