// PushRequest: one POST /api/v1/push of a fixed number of messages, laid out once. What differs
// from request to request (partition, transactionId, stamp) has a fixed width and is written over
// in place, so a message costs a few dozen bytes of writing and no allocation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/payload.h"
#include "bench/target.h"
#include "bench/transaction_ids.h"

namespace queen::bench {

// "p0000042"; fixed width. REQUIRES: partition <= kPartitionMax
std::string PartitionName(uint32_t partition);
inline constexpr uint32_t kPartitionMax = 9'999'999;

class PushRequest {
 public:
  struct Shape {
    std::string queue;
    int64_t batch = 1;
    int64_t payload_bytes = 200;
    bool transaction_ids = true;
  };

  PushRequest(const Target& target, const Shape& shape);

  size_t size() const { return items_.size(); }

  // Writes item `index` anew.
  // REQUIRES: transaction_id has kTransactionIdBytes, or the shape is without
  void Set(size_t index, const Stamp& stamp, std::string_view transaction_id);

  // The request. Valid until the next Set.
  std::string_view bytes() const { return bytes_; }

 private:
  // Where the parts of an item begin.
  struct Item {
    size_t partition = 0;
    size_t transaction_id = 0;  // 0 when there is none
    size_t stamp = 0;
  };

  std::string bytes_;
  std::vector<Item> items_;
};

}  // namespace queen::bench
