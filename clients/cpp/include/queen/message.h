// What travels between an application and a broker. Payloads are JSON texts: their bytes arrive as
// they were sent, and this library has no opinion on which JSON library made them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "queen/result.h"

namespace queen::client {

// `text` as a JSON string with quotes and escapes, for payloads that are plain texts.
std::string JsonString(std::string_view text);

// A UUIDv7: ids made by one thread rise.
std::string NewId();

// A message to push.
struct NewMessage {
  std::string queue;
  std::string partition = "Default";
  std::string payload = "null";  // JSON
  // What makes a second push of this message a duplicate, within its partition. Left empty, the
  // library makes a UUIDv7 before the first try, so that its own retries cannot double a message.
  std::string transaction_id;
  std::string trace_id;  // a UUID, or ""
  std::map<std::string, std::string> headers;
};

enum class PushStatus {
  kQueued,
  kDuplicate,  // was stored before; `message_id` is that of the stored one
  kBuffered,   // the broker keeps it on its disk until PostgreSQL is back
  kFailed,     // not stored; `error` says why
  kUnknown,    // no reply came: stored or not. Push it again with the same transaction_id
};

struct PushOutcome {
  PushStatus status = PushStatus::kFailed;
  std::string transaction_id;
  std::string message_id;    // "" unless kQueued or kDuplicate
  std::string partition_id;  // "" unless kQueued
  std::string error;         // "" unless kFailed or kUnknown
  // Of the request, where it failed as a whole and not because of this message.
  std::optional<ErrorKind> request_error = std::nullopt;

  // Stored, now or before, or safe on a broker's disk.
  bool ok() const { return status < PushStatus::kFailed; }
};

// A message as a pop delivers it.
struct Message {
  std::string id;
  std::string transaction_id;
  std::string queue;
  std::string partition;
  std::string partition_id;
  std::string lease_id;  // "" if it was acknowledged on delivery
  std::string group;
  std::string payload;  // JSON
  std::string trace_id;
  std::string producer;  // the `sub` of the producer's token, or ""
  std::string created_at;
  std::map<std::string, std::string> headers;
  int64_t retry_count = 0;
  int64_t offset = 0;
  // Set once the lease is known to be lost; a Consumer that renews leases fills it in.
  std::shared_ptr<const std::atomic<bool>> lease_lost_flag = nullptr;

  // Others get this message: what its handler still does is in vain. For handlers that take long.
  bool LeaseLost() const { return lease_lost_flag && *lease_lost_flag; }
};

// What becomes of a message.
enum class Verdict {
  kCompleted,
  kFailed,      // counted; redelivered, or a dead letter once the queue's retryLimit is passed
  kDeadLetter,  // to the dead letters at once
  kRetry,       // handed back uncounted, with everything delivered after it
};

struct Acknowledgment {
  std::string transaction_id;
  std::string partition_id;
  std::string lease_id;
  std::string group;
  Verdict verdict = Verdict::kCompleted;
  std::string error;  // why it failed

  static Acknowledgment Of(const Message& message, Verdict verdict = Verdict::kCompleted,
                           std::string error = "");
};

struct AckOutcome {
  std::string transaction_id;
  bool success = false;
  bool dead_letter = false;  // it is among the dead letters now
  std::string error;
};

}  // namespace queen::client
