// Producer: pushes in the background, many messages in one request. A batch leaves when it is full
// (by count or bytes) or its oldest message has waited long enough. What is not answered yet is
// bounded: Push waits for room, so that a slow broker slows its producers instead of filling
// memory.
//
// Messages of one partition stay in the order of their pushes. Messages that a broker refuses as a
// whole request (one is too large, say) are tried in halves, so that only the bad one fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>

#include "queen/client.h"

namespace queen::client {

struct ProducerOptions {
  size_t batch_messages = 500;
  size_t batch_bytes = size_t{1} << 20;
  std::chrono::milliseconds linger{5};  // how long the first message of a batch may wait
  int lanes = 2;                        // requests in flight; a partition always uses the same one
  size_t pending_messages = 50'000;     // accepted and not answered
  size_t pending_bytes = size_t{64} << 20;
  // Once asked, what is not answered yet is given up: its outcome is kUnknown where a request was
  // on its way, and kFailed otherwise.
  std::stop_token stop;
};

struct ProducerCounts {
  uint64_t accepted = 0;
  uint64_t stored = 0;  // queued, duplicate or buffered
  uint64_t failed = 0;  // failed or unknown
  uint64_t requests = 0;
};

class Producer {
 public:
  // Called once per accepted message, on a thread of the producer; must not block for long and must
  // not call Flush or Close.
  using OnOutcome = std::function<void(const PushOutcome&)>;

  // REQUIRES: `client` outlives the producer.
  explicit Producer(Client& client, const ProducerOptions& options = {});
  // Close().
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Waits for room, takes the message and answers its transaction id. kInvalidArgument for a
  // payload that is not JSON or a message without a queue, kStopped after Close.
  Result<std::string> Push(NewMessage message, OnOutcome on_outcome = {});

  // The same, with the outcome to be waited for. Not taken: the outcome is kFailed and says why.
  std::future<PushOutcome> PushAsync(NewMessage message);

  // Sends what is held without waiting for more; returns when everything that was accepted before
  // the call has its outcome.
  void Flush();

  // Flush, then refuse. A second call does nothing.
  void Close();

  ProducerCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace queen::client
