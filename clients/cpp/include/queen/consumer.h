// Consumer: a loop of long polls, several at a time, that calls a handler for each message and
// acknowledges what it answers. While handlers run, the lease of their messages is renewed. A
// handler that throws has failed, with the text of the exception as the error.
//
// A lease that is lost all the same (a seek, a broker that was away for longer) ends the batch:
// `on_error` is told, the handler that runs can see it (Message::LeaseLost), and nothing of the
// batch is acknowledged.
//
// At least once: a message whose acknowledgment is lost, or whose lease is, comes again. With
// `auto_ack` a message is acknowledged as it is delivered: at most once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "queen/client.h"

namespace queen::client {

struct Answer {
  Verdict verdict = Verdict::kCompleted;
  std::string error;

  static Answer Completed() { return {}; }
  static Answer Failed(std::string why) { return {Verdict::kFailed, std::move(why)}; }
  static Answer DeadLetter(std::string why) { return {Verdict::kDeadLetter, std::move(why)}; }
  static Answer Retry() { return {Verdict::kRetry, ""}; }
};

struct ConsumerOptions {
  // Where from and how many at once. `wait` below 1 s counts as 30 s. `lease_seconds` 0 is 60 with
  // `renew_leases`, else the queue's.
  PopRequest pop;
  int concurrency = 1;       // polls and handlers at a time
  bool renew_leases = true;  // each third of the lease, while handlers run
  // Faults that the consumer survives: a broker that is away, an acknowledgment that was refused.
  // Called on its threads.
  std::function<void(const Error&)> on_error;
};

class Consumer {
 public:
  // Called for one message at a time per thread, `concurrency` threads at once.
  using Handler = std::function<Answer(const Message&)>;

  // REQUIRES: `client` outlives the consumer.
  Consumer(Client& client, ConsumerOptions options, Handler handler);
  // Stop() and wait.
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Consumes until Stop, or until a broker refuses for good (a wrong call, no permission). True, or
  // that refusal. Call it once.
  Result<bool> Run();

  // Ends Run: polls are dropped at once, handlers that run are waited for and acknowledged, and
  // messages that no handler has seen are handed back. From any thread, also from a handler.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace queen::client
