// CommitLog: what became of transactions, and how far the write-ahead log is on disk. A commit is a
// record in the log; it is seen by others from Show on, which for an asynchronous commit is before
// its record is durable. A crash keeps a prefix of the log: who committed behind it never did, and
// the numbers of those transactions are given out again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace queen::simulator {

using Xid = uint64_t;  // of a transaction that writes; 0: none
using Lsn = uint64_t;  // how many records the log has

// Whose changes a statement sees: what was committed when it was taken.
struct Snapshot {
  Xid xmin = 0;             // what is below has ended
  Xid xmax = 0;             // what is not below had not begun
  std::vector<Xid> active;  // of those between, those in progress, rising

  // As pg_snapshot writes it: "xmin:xmax:active,..".
  std::string ToText() const;
  // REQUIRES: `text` is from ToText
  static Snapshot FromText(const std::string& text);
  bool IsActive(Xid xid) const;
};

class CommitLog {
 public:
  static constexpr Xid kFirstXid = 1000;

  // With a standby: a failover may lose what is flushed here.
  explicit CommitLog(bool standby = false) : standby_(standby) {}

  // A number for a transaction that begins to write.
  Xid Assign();
  // Writes the record; nobody sees the commit yet. REQUIRES: in progress
  Lsn Commit(Xid xid);
  // The commit is seen from now on. REQUIRES: Commit was called
  void Show(Xid xid);
  void Abort(Xid xid);
  // A record of no transaction, such as that of a sequence.
  Lsn Note() { return ++end_; }

  Snapshot Take() const;
  bool IsCommitted(Xid xid) const { return StateOf(xid) == State::kCommitted; }
  bool IsInProgress(Xid xid) const { return StateOf(xid) == State::kInProgress; }
  // Whether it is committed, and no crash can change that any more.
  bool IsDurable(Xid xid) const { return IsCommitted(xid) && records_[PlaceOf(xid)].lsn <= safe(); }
  // Whether `snapshot` sees what `xid` has committed.
  bool Sees(const Snapshot& snapshot, Xid xid) const {
    return xid < snapshot.xmax && IsCommitted(xid) &&
           (xid < snapshot.xmin || !snapshot.IsActive(xid));
  }

  Lsn end() const { return end_; }
  Lsn flushed() const { return flushed_; }
  // What no crash and no failover can lose.
  Lsn safe() const { return standby_ ? confirmed_ : flushed_; }
  void Flush(Lsn upto);
  // The standby has it.
  void Confirm(Lsn upto);

  // Keeps the records up to `prefix`. Every other transaction has aborted.
  // REQUIRES: safe() <= prefix <= end()
  void Crash(Lsn prefix);
  Xid next() const { return kFirstXid + records_.size(); }

 private:
  enum class State : uint8_t { kInProgress, kCommitted, kAborted };
  struct Record {
    State state = State::kInProgress;
    Lsn lsn = 0;  // of the commit
  };

  static size_t PlaceOf(Xid xid) { return xid - kFirstXid; }
  State StateOf(Xid xid) const {
    return PlaceOf(xid) < records_.size() ? records_[PlaceOf(xid)].state : State::kAborted;
  }
  void Leave(Xid xid);

  const bool standby_;
  std::vector<Record> records_;
  std::vector<Xid> active_;  // rising
  Lsn end_ = 0;
  Lsn flushed_ = 0;
  Lsn confirmed_ = 0;
};

}  // namespace queen::simulator
