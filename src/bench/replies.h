// What a run needs of the replies of the API, in one pass over their bytes. Every byte is validated
// (JsonReader); a reply of another shape is an error that says what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace queen::bench {

// 201 to a push: how many items ended in which way.
struct PushOutcome {
  uint64_t queued = 0;
  uint64_t duplicate = 0;
  uint64_t buffered = 0;
  uint64_t failed = 0;
  std::string first_error;  // of the failed ones

  uint64_t items() const { return queued + duplicate + buffered + failed; }
};
Result<PushOutcome> ReadPushReply(std::string_view body);

// 200 to a pop: slices of the body. The ids are JSON strings with their quotes, ready to be sent
// back in an ack.
struct Delivered {
  std::string_view transaction_id;
  std::string_view partition_id;
  std::string_view lease_id;
  std::string_view payload;
};
// Replaces what is in `messages`.
Status ReadPopReply(std::string_view body, std::vector<Delivered>& messages);

// 200 to an ack of several messages.
struct AckOutcome {
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  std::string first_error;  // of the failed ones
};
Result<AckOutcome> ReadAckReply(std::string_view body);

// The body of POST /api/v1/ack/batch that completes all of `messages`, in place of what is in
// `body`. `group` is a JSON string with its quotes, or "" for none.
void WriteAckBody(const std::vector<Delivered>& messages, std::string_view group,
                  std::string& body);

}  // namespace queen::bench
