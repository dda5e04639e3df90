// Client: one application's way to the brokers. Every call blocks until it is answered; any number
// of threads may call at once, and each call in flight has a connection of its own that is kept.
// producer.h and consumer.h build batching and consuming on it, admin.h what operators ask.
//
// Retries. A connection that fails, a 503 and a 429 are tried again, on the next broker of the list
// and then with growing pauses. That cannot double a message: a push carries transaction ids that
// are made before the first try, and everything else this library repeats says the same when said
// twice.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "queen/message.h"
#include "queen/result.h"

namespace queen::client {

struct RetryPolicy {
  int rounds_max = 5;  // each asks every broker once; 1 = no retries
  std::chrono::milliseconds first_delay{200};
  std::chrono::milliseconds delay_max{10'000};
};

struct Options {
  // In the order of preference; the one that answered last is asked first.
  std::vector<std::string> urls = {"http://127.0.0.1:6632"};
  std::string token;  // sent as `Authorization: Bearer`; "" = none
  // For https URLs, files of PEM: the certificates to trust ("" = those of the system), and what
  // the client shows of itself ("" = nothing).
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds request_timeout{30'000};  // a long poll has its own wait on top
  RetryPolicy retry;
  // Called before each pause with why the round failed, on the thread of the call.
  std::function<void(const Error&)> on_retry;
};

struct PopRequest {
  std::string queue;       // or, when empty, any queue of:
  std::string name_space;  // and/or
  std::string task;
  std::string partition;  // "" = any
  std::string group;      // "" = queue mode
  int batch = 1;
  int partitions = 1;                 // most partitions to take from at once
  std::chrono::milliseconds wait{0};  // > 0: long poll
  bool auto_ack = false;
  std::string subscription_mode;  // "all" or "new"; counts at the group's first pop
  std::string subscription_from;  // "now", a time, or "10m ago"
  int lease_seconds = 0;          // 0 = the queue's
};

// Pushes and acknowledgments that happen together or not at all.
class Transaction {
 public:
  Transaction& Push(NewMessage message);
  Transaction& Ack(const Message& message, Verdict verdict = Verdict::kCompleted,
                   std::string error = "");

  const std::vector<NewMessage>& pushes() const { return pushes_; }
  const std::vector<Acknowledgment>& acks() const { return acks_; }

 private:
  std::vector<NewMessage> pushes_;
  std::vector<Acknowledgment> acks_;
};

// A call of the HTTP interface as it is.
struct Call {
  std::string method = "GET";
  std::string path;  // with its query; see Path in admin.h for how to build one
  std::string body;
  std::chrono::milliseconds wait{0};  // how much longer than usual the reply may take
  // Whether a call whose reply was lost may be made again.
  bool repeatable = true;
};

struct Reply {
  int status = 0;
  std::string body;
  std::string date;  // the broker's clock, as HTTP writes it, or ""
};

class Client {
 public:
  explicit Client(Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One outcome per message, in their order. An error is about all of them: then nothing is known
  // to be stored, and the same messages (with transaction ids of your own) may be pushed again.
  // Messages of one partition become visible together and in order.
  Result<std::vector<PushOutcome>> Push(std::vector<NewMessage> messages,
                                        const std::stop_token& stop = {});

  // Empty if there was nothing, after `wait`. `stop` ends a long poll at once.
  Result<std::vector<Message>> Pop(const PopRequest& request, const std::stop_token& stop = {});

  // One outcome per acknowledgment, in their order. A lost lease is an outcome, not an error.
  Result<std::vector<AckOutcome>> Ack(const std::vector<Acknowledgment>& acks,
                                      const std::stop_token& stop = {});

  // Extends a lease; answers its expiry. kNotFound if it is lost. `seconds` 0 = its own length.
  Result<std::string> ExtendLease(const std::string& lease_id, int seconds = 0,
                                  const std::stop_token& stop = {});

  // The outcomes of the pushes. kRefused with the broker's reason if nothing was applied.
  Result<std::vector<PushOutcome>> Commit(const Transaction& transaction,
                                          const std::stop_token& stop = {});

  // Any call. A status of 400 or more is an error.
  Result<Reply> Send(const Call& call, const std::stop_token& stop = {});

  // The broker that answered last.
  std::string url() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace queen::client
