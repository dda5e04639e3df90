// Connection: one PostgreSQL session on one loop, kept up for ever, in libpq's pipeline mode.
//
//                   +-------------------- pause over -------------------+
//                   v                                                   |
//   Start ---> kConnecting ---- refused, timed out, no such host --> kBackoff
//                   |                                                 ^    ^
//                   | connected                        lost while idle|    |lost, silent too long,
//                   v                                                 |    |or server read-only
//                 kIdle --------------------------------------------- +    |
//                  | ^  last batch answered                                |
//          Execute | |                                                     |
//                  v |                                                     |
//                 kBusy ---------------------------------------------------+
//   Close, in any state ---> kClosed
//
// What it promises:
//   1. A batch is one transaction. Its Parse, Bind and Execute messages and one Sync leave
//      together. The batch is answered when the answer of the Sync has arrived: the commit happens
//      there and may still fail.
//   2. Every callback runs exactly once, never inside Execute, and answers come in the order of
//      Execute. When a connection is lost the listener hears of it first, then the batches end:
//      kUnknown for those sent, kFailure with `sent` false for those that were not.
//   3. Nothing blocks: while a large batch is being written, results are read.
//   4. Silence for in_flight_deadline_ms while something is in flight loses the connection.
// Callbacks may call Execute and Close, but not destroy the connection.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "loop/timer.h"
#include "pg/batch.h"
#include "pg/connector.h"
#include "pg/prepared_statements.h"
#include "pg/reconnect_backoff.h"

namespace queen::pg {

class Connection {
 public:
  enum class State { kConnecting, kIdle, kBusy, kBackoff, kClosed };

  class Listener {
   public:
    // Connected: kIdle, from kConnecting.
    virtual void OnUp(Connection& connection) = 0;
    // Was up and no longer is. Also when Close cut it off, but not when an idle one was closed.
    virtual void OnDown(Connection& connection, const Status& reason) = 0;
    // An attempt to connect failed; the next one follows by itself.
    virtual void OnConnectFailed(Connection& connection, const ConnectFailure& failure) = 0;
    // Takes a batch again, after one was answered.
    virtual void OnFree(Connection& connection) = 0;

   protected:
    ~Listener() = default;
  };

  // `pipeline_depth` batches may be in flight at once. REQUIRES: the listener outlives this
  Connection(Loop& loop, const ConnectOptions& options, int pipeline_depth, Listener& listener);
  ~Connection();  // closes; batches in flight end as in Close
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to connect. Once.
  void Start();

  // Sends the batch, or queues it behind those in flight. REQUIRES: IsFree(), !batch.empty()
  void Execute(Batch batch, BatchCallback callback);

  // Now and for good. Batches in flight end kUnknown, so wait for them first where that matters.
  void Close();

  State state() const { return state_; }
  bool IsUp() const { return state_ == State::kIdle || state_ == State::kBusy; }
  // Whether Execute may be called.
  bool IsFree() const { return IsUp() && !doomed_ && load() < pipeline_depth_; }
  // Batches not answered yet.
  int load() const { return static_cast<int>(in_flight_.size() + waiting_.size()); }
  // Process id of the backend, 0 when not up.
  int backend_pid() const;
  int server_version() const;
  // Failed attempts since it was last up.
  int attempts() const { return backoff_.attempts(); }

 private:
  // One message group of a batch that libpq answers with one result.
  struct Step {
    enum class Kind { kDeallocate, kPrepare, kExecute } kind;
    int execution;
  };
  struct Pending {
    Batch batch;
    BatchCallback callback;
    std::vector<Step> steps{};
    size_t answered = 0;  // steps with a result
    BatchResult result{};
  };

  void BeginConnecting();
  void OnAttempt(Connector::Attempt attempt);
  void BeginBackoff();

  void SendWaiting();
  bool MustWait(const Batch& batch) const;
  bool Send(Pending& pending);
  bool SendExecution(Pending& pending, int index);
  void Flush();

  void OnSocket(int events);
  bool ReadSocket();
  // Takes every result that is complete; stops when the connection is lost.
  void TakeResults();
  void OnResult(ResultHandle result);
  void OnStepDone(Pending& pending, ResultHandle result);
  void OnStepFailed(Pending& pending, const pg_result* result);
  void OnSync();

  void OnTimer();
  void OnSilence();
  // Gives up the session: tells the listener, ends the batches, begins the backoff.
  void Lose(Status reason, std::string sqlstate);
  void Drop();
  std::deque<Pending> TakeBatches();
  static void EndBatches(std::deque<Pending> batches, const Status& reason,
                         const std::string& sqlstate);
  static void OnNotice(void* self, const pg_result* result);

  Loop& loop_;
  const ConnectOptions options_;
  const int pipeline_depth_;
  Listener& listener_;

  State state_ = State::kClosed;
  Connector connector_;
  ReconnectBackoff backoff_;
  Timer timer_;  // kBackoff: the pause; kBusy: the in-flight deadline, left to run out when idle

  ConnectionHandle connection_;
  std::unique_ptr<SocketWatch> watch_;  // destroyed before the connection_ it watches
  PreparedStatements prepared_;
  std::deque<Pending> in_flight_;  // sent, in order
  std::deque<Pending> waiting_;    // behind a batch that is still preparing what they use
  bool doomed_ = false;            // a send failed; lost as soon as the stack has unwound
  int64_t last_progress_ms_ = 0;   // when bytes last moved, or the first in flight was sent
  std::string farewell_;           // why the server, or libpq, says it is over
  std::string farewell_sqlstate_;

  std::vector<const char*> scratch_values_;
  std::vector<int> scratch_lengths_;
  std::vector<int> scratch_formats_;
};

}  // namespace queen::pg
