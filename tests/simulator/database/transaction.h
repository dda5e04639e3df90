// Transaction: one transaction of a session at READ COMMITTED, and Transactions, all that run.
//
// A statement sees what its snapshot sees and what its own transaction has done. Whatever has to
// wait waits for another transaction to end: for who holds an advisory lock or a row, and for who
// has inserted or deleted a key without having ended yet. Locks are held to the end. A wait ends
// with an error after the lock_timeout, or when it is part of a cycle after the deadlock_timeout.
//
// REQUIRES of procedures: a statement reads before it writes, since what its own transaction has
// written is seen at once.
#pragma once

#include <coroutine>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/database/commit_log.h"
#include "simulator/database/scheduler.h"
#include "simulator/database/task.h"

namespace queen::simulator {

// What PostgreSQL raises.
struct SqlError {
  std::string sqlstate;
  std::string message;
  std::string detail;
};

// Class and number of an advisory lock.
using AdvisoryKey = std::pair<int32_t, int32_t>;

struct TransactionOptions {
  int64_t deadlock_timeout_micros = 1'000'000;
  // Before each statement within a procedure others run with this probability, in 1 of 1,000.
  int pause_per_mille = 0;
  int64_t pause_micros_max = 200;
  // Advisory locks at a time in all sessions; one more is refused (53200).
  size_t locks_max = SIZE_MAX;
};

class Transactions;

class Transaction {
 public:
  using Id = uint64_t;  // never used again

  Transaction(Transactions& all, Id id, int64_t lock_timeout_micros);
  ~Transaction();  // aborts unless committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Begins the next statement: others may run before, and its snapshot is taken.
  Task<void> NextStatement();
  const Snapshot& snapshot() const { return snapshot_; }
  // Whether the present statement sees what was inserted by `xmin` and deleted by `xmax`.
  bool Sees(Xid xmin, Xid xmax) const;

  // PostgreSQL's clock_timestamp().
  int64_t Now() const;
  // Its own number, given with the first call.
  Xid xid();
  bool has_xid() const { return xid_ != 0; }
  bool IsMine(Xid xid) const { return xid_ != 0 && xid == xid_; }
  // Whether `xid` is another transaction that has not ended.
  bool IsBusy(Xid xid) const;

  bool TryLock(const AdvisoryKey& key);
  Task<void> Lock(AdvisoryKey key);
  // Until the transaction `xid`, if it runs, has ended.
  Task<void> WaitFor(Xid xid);

  // SET LOCAL synchronous_commit = off
  void set_asynchronous() { synchronous_ = false; }
  bool synchronous() const { return synchronous_; }

  // The record is written, nobody sees it. REQUIRES: has_xid()
  Lsn WriteCommit();
  // Seen by others, and everything it held is free.
  void ShowCommit();

  // A pause of the session.
  Task<void> Sleep(int64_t micros);
  Transactions& all() { return all_; }
  const CommitLog& log() const;
  Id id() const { return id_; }
  bool waiting() const { return waiting_for_ != 0; }

 private:
  friend class Transactions;
  struct Suspend;

  Task<void> WaitForTransaction(Id id);
  void Resume(uint64_t wait);
  void End();

  Transactions& all_;
  const Id id_;
  const int64_t lock_timeout_micros_;
  Snapshot snapshot_;
  Xid xid_ = 0;
  bool synchronous_ = true;
  bool ended_ = false;
  std::vector<AdvisoryKey> locks_;
  Id waiting_for_ = 0;
  uint64_t wait_ = 0;  // which of its waits
  std::coroutine_handle<> suspended_;
  std::optional<SqlError> refused_;  // the wait has ended with this
  std::vector<std::pair<Id, uint64_t>> waiters_;
};

class Transactions {
 public:
  Transactions(Scheduler& scheduler, CommitLog& log, std::mt19937_64& random,
               TransactionOptions options)
      : scheduler_(scheduler), log_(log), random_(random), options_(options) {}

  Scheduler& scheduler() { return scheduler_; }
  CommitLog& log() { return log_; }
  const CommitLog& log() const { return log_; }
  std::mt19937_64& random() { return random_; }
  const TransactionOptions& options() const { return options_; }
  // How far the database's clock is from the scheduler's.
  int64_t clock_offset_micros() const { return clock_offset_micros_; }
  void set_clock_offset_micros(int64_t offset) { clock_offset_micros_ = offset; }

  Transaction::Id NextId() { return ++ids_; }
  // Nobody who runs can see what was deleted by a transaction below.
  Xid Horizon() const;
  size_t size() const { return running_.size(); }
  size_t waiting() const;

 private:
  friend class Transaction;

  Transaction* Find(Transaction::Id id) const;
  bool IsCycle(const Transaction& from) const;

  Scheduler& scheduler_;
  CommitLog& log_;
  std::mt19937_64& random_;
  const TransactionOptions options_;
  int64_t clock_offset_micros_ = 0;
  Transaction::Id ids_ = 0;
  std::map<Transaction::Id, Transaction*> running_;
  std::map<Xid, Transaction::Id> writers_;
  std::map<AdvisoryKey, Transaction::Id> locks_;
};

}  // namespace queen::simulator
