// Database: a PostgreSQL in memory with the schema of sql/, for as many sessions as are opened, in
// virtual time and the same for the same seed. It executes the statements of storage/ by their
// names (procedures/); one it does not know is refused.
//
// A session executes batches one after the other. A batch takes time to arrive, to be executed, to
// be committed and to be answered, and other sessions go on meanwhile. A client that loses its
// session hears nothing more of it, but what has arrived is executed all the same: a stray. A crash
// ends all sessions, keeps a prefix of the log that has at least what was durable, and refuses
// connections until the server is up again.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "pg/batch.h"
#include "simulator/database/catalog.h"
#include "simulator/database/scheduler.h"
#include "simulator/database/transaction.h"

namespace queen::simulator {

// Times in microseconds, drawn anew each time from [0, max] or [min, max].
struct DatabaseOptions {
  uint64_t seed = 0;
  TransactionOptions transactions;
  int64_t network_micros_max = 0;    // one way
  int64_t statement_micros_max = 0;  // before each statement of a batch
  int64_t flush_micros_min = 0;
  int64_t flush_micros_max = 0;
  // An asynchronous commit is durable so long after it is seen, at the latest.
  int64_t async_flush_micros = 600'000;
  // What a lost session has sent and was not begun arrives so late, or never.
  int64_t stray_micros_max = 0;
  // A standby whose confirmation commits wait for, and how long it takes; 0: there is none.
  int64_t standby_micros_max = 0;
  int64_t vacuum_every_micros = 100'000;
};

class Database {
 public:
  using SessionId = uint64_t;

  struct SessionOptions {
    int64_t lock_timeout_micros = 5'000'000;
    // The server has ended the session; batches in flight are not answered. Never inside a call.
    UniqueFunction<void()> on_lost;
  };

  Database(Scheduler& scheduler, DatabaseOptions options);
  // Nobody is told. REQUIRES: the scheduler runs no event of this afterwards
  ~Database();

  // nullopt while the server is down.
  std::optional<SessionId> Open(SessionOptions options);
  bool IsOpen(SessionId session) const { return sessions_.count(session) > 0; }
  // The client has gone: nothing is answered any more, and strays go on.
  void Lose(SessionId session);

  // Executes the batch behind those of the session that are in flight. The callback runs once,
  // never inside this call, unless the session is lost first. REQUIRES: IsOpen(session)
  void Execute(SessionId session, pg::Batch batch, pg::BatchCallback callback);

  // The server dies, and is up again `down_micros` later.
  void Crash(int64_t down_micros);
  // A standby takes over that has what it has confirmed, and perhaps more; its clock is
  // `clock_micros` ahead of the one before. REQUIRES: there is a standby
  void Failover(int64_t down_micros, int64_t clock_micros);
  // Every commit that waits for the standby goes on without it: its outcome is unknown to its
  // client, though others see it.
  void CancelStandbyWaits();
  void JumpClock(int64_t micros);
  // For so long no commit is flushed and, `whole`, no statement begins.
  void Stall(int64_t micros, bool whole);

  bool up() const { return up_; }
  int64_t ClockMicros() const;

  // For checks and tests: what is committed, as one statement sees it.
  Catalog& catalog() { return catalog_; }
  Transactions& transactions() { return transactions_; }
  std::unique_ptr<Transaction> Look();

  struct Counts {
    uint64_t batches = 0;
    uint64_t refused = 0;
    uint64_t deadlocks = 0;
    uint64_t lock_timeouts = 0;
    uint64_t strays = 0;  // batches executed for nobody
    uint64_t crashes = 0;
    uint64_t lost_commits = 0;  // seen and then forgotten
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Work;
  struct Session;

  Task<void> Run(Session& session);
  Task<void> Commit(Session& session, pg::BatchResult& result);
  // `late`: of a stray that was held back already.
  void BeginNext(SessionId session, int64_t delay_micros, bool late);
  void Answer(SessionId session, pg::BatchCallback callback, pg::BatchResult result);
  void End(std::map<SessionId, std::unique_ptr<Session>> sessions);
  void GoDown(Lsn prefix, int64_t down_micros);
  void FlushSoon();
  void VacuumSoon();
  int64_t Draw(int64_t low, int64_t high);
  // So long, and at least until `time`.
  int64_t AtLeastUntil(int64_t time, int64_t micros) const;

  Scheduler& scheduler_;
  const DatabaseOptions options_;
  std::mt19937_64 random_;
  CommitLog log_;
  Transactions transactions_;
  Catalog catalog_;
  std::map<SessionId, std::unique_ptr<Session>> sessions_;
  SessionId session_ids_ = 0;
  uint64_t generation_ = 0;  // of the server's process
  bool up_ = true;
  bool flush_due_ = false;
  bool vacuum_due_ = false;
  int64_t statements_from_ = 0;
  int64_t flushes_from_ = 0;
  Counts counts_;
};

}  // namespace queen::simulator
