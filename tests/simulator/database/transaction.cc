#include "simulator/database/transaction.h"

#include <algorithm>
#include <cassert>

#include "base/random.h"

namespace queen::simulator {

// Leaves the coroutine until Resume.
struct Transaction::Suspend {
  Transaction& transaction;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> frame) const { transaction.suspended_ = frame; }
  void await_resume() const noexcept {}
};

Transaction::Transaction(Transactions& all, Id id, int64_t lock_timeout_micros)
    : all_(all), id_(id), lock_timeout_micros_(lock_timeout_micros) {
  all_.running_.emplace(id_, this);
  snapshot_ = all_.log_.Take();
}

Transaction::~Transaction() {
  if (ended_) return;
  if (xid_ != 0 && all_.log_.IsInProgress(xid_)) all_.log_.Abort(xid_);
  End();
}

Task<void> Transaction::NextStatement() {
  const TransactionOptions& options = all_.options_;
  if (options.pause_per_mille > 0 &&
      RandomBetween(all_.random_, 1, 1000) <= options.pause_per_mille) {
    co_await Sleep(RandomBetween(all_.random_, 0, options.pause_micros_max));
  }
  snapshot_ = all_.log_.Take();
}

bool Transaction::Sees(Xid xmin, Xid xmax) const {
  if (!IsMine(xmin) && !all_.log_.Sees(snapshot_, xmin)) return false;
  if (xmax == 0) return true;
  return !IsMine(xmax) && !all_.log_.Sees(snapshot_, xmax);
}

int64_t Transaction::Now() const { return all_.scheduler_.NowMicros() + all_.clock_offset_micros_; }

Xid Transaction::xid() {
  if (xid_ == 0) {
    xid_ = all_.log_.Assign();
    all_.writers_.emplace(xid_, id_);
  }
  return xid_;
}

bool Transaction::IsBusy(Xid xid) const {
  return xid != 0 && xid != xid_ && all_.log_.IsInProgress(xid);
}

const CommitLog& Transaction::log() const { return all_.log_; }

bool Transaction::TryLock(const AdvisoryKey& key) {
  const auto held = all_.locks_.find(key);
  if (held != all_.locks_.end()) return held->second == id_;
  if (all_.locks_.size() >= all_.options_.locks_max) {
    throw SqlError{"53200", "out of shared memory", ""};
  }
  all_.locks_.emplace(key, id_);
  locks_.push_back(key);
  return true;
}

Task<void> Transaction::Lock(AdvisoryKey key) {
  while (!TryLock(key)) co_await WaitForTransaction(all_.locks_.at(key));
}

Task<void> Transaction::WaitFor(Xid xid) {
  const auto writer = all_.writers_.find(xid);
  if (writer != all_.writers_.end()) co_await WaitForTransaction(writer->second);
}

Task<void> Transaction::WaitForTransaction(Id id) {
  Transaction* holder = all_.Find(id);
  assert(holder != nullptr && holder != this);
  waiting_for_ = id;
  const uint64_t wait = ++wait_;
  holder->waiters_.emplace_back(id_, wait);
  const auto refuse = [&all = all_, me = id_, wait](SqlError error) {
    Transaction* transaction = all.Find(me);
    if (transaction == nullptr || transaction->wait_ != wait || !transaction->waiting()) return;
    transaction->refused_ = std::move(error);
    transaction->Resume(wait);
  };
  if (lock_timeout_micros_ > 0) {
    all_.scheduler_.After(lock_timeout_micros_, [refuse] {
      refuse({"55P03", "canceling statement due to lock timeout", ""});
    });
  }
  all_.scheduler_.After(all_.options_.deadlock_timeout_micros, [&all = all_, me = id_, refuse] {
    const Transaction* transaction = all.Find(me);
    if (transaction != nullptr && all.IsCycle(*transaction)) {
      refuse({"40P01", "deadlock detected", ""});
    }
  });
  co_await Suspend{*this};
  if (refused_) {
    const SqlError error = *std::exchange(refused_, std::nullopt);
    throw error;
  }
}

Task<void> Transaction::Sleep(int64_t micros) {
  const uint64_t wait = ++wait_;
  all_.scheduler_.After(micros, [&all = all_, me = id_, wait] {
    Transaction* transaction = all.Find(me);
    if (transaction != nullptr) transaction->Resume(wait);
  });
  co_await Suspend{*this};
}

void Transaction::Resume(uint64_t wait) {
  if (wait != wait_ || !suspended_) return;
  waiting_for_ = 0;
  std::exchange(suspended_, nullptr).resume();
}

Lsn Transaction::WriteCommit() { return all_.log_.Commit(xid()); }

void Transaction::ShowCommit() {
  if (xid_ != 0) all_.log_.Show(xid_);
  End();
}

void Transaction::End() {
  ended_ = true;
  for (const AdvisoryKey& key : locks_) all_.locks_.erase(key);
  if (xid_ != 0) all_.writers_.erase(xid_);
  all_.running_.erase(id_);
  for (const auto& [id, wait] : waiters_) {
    all_.scheduler_.After(0, [&all = all_, waiter = id, number = wait] {
      Transaction* transaction = all.Find(waiter);
      if (transaction != nullptr) transaction->Resume(number);
    });
  }
}

Transaction* Transactions::Find(Transaction::Id id) const {
  const auto found = running_.find(id);
  return found == running_.end() ? nullptr : found->second;
}

bool Transactions::IsCycle(const Transaction& from) const {
  const Transaction* next = &from;
  for (size_t steps = 0; steps <= running_.size(); ++steps) {
    if (!next->waiting()) return false;
    next = Find(next->waiting_for_);
    if (next == nullptr) return false;
    if (next == &from) return true;
  }
  return false;
}

Xid Transactions::Horizon() const {
  Xid horizon = log_.Take().xmin;
  for (const auto& [id, transaction] : running_) {
    horizon = std::min(horizon, transaction->snapshot().xmin);
  }
  return horizon;
}

size_t Transactions::waiting() const {
  return static_cast<size_t>(std::count_if(
      running_.begin(), running_.end(), [](const auto& entry) { return entry.second->waiting(); }));
}

}  // namespace queen::simulator
