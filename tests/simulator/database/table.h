// Table<Key, Row>: rows by their primary key, with all versions that somebody may still see. A
// version was inserted by xmin and deleted by xmax; a row that is changed gets another version.
// `locker` holds the row without changing it. Numbers of transactions that have aborted stand for
// nothing.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "simulator/database/transaction.h"

namespace queen::simulator {

// What all tables are told together.
class AnyTable {
 public:
  virtual ~AnyTable() = default;
  // Removes versions that nobody can see any more, of keys that were deleted or changed.
  virtual void Vacuum(const CommitLog& log, Xid horizon) = 0;
  // After a crash: what has not committed is gone, and so is every lock.
  virtual void Recover(const CommitLog& log) = 0;
};

enum class RowLock {
  kLocked,
  kBusy,  // another transaction holds it
  kGone,  // the snapshot sees none, or it was deleted since
};

template <typename Key, typename Row>
class Table final : public AnyTable {
 public:
  struct Version {
    Row row;
    Xid xmin = 0;
    Xid xmax = 0;
    Xid locker = 0;
  };
  using Versions = std::vector<Version>;

  // Called with what a key had when nothing of it is left.
  using OnRemoved = std::function<void(const Key&, const Row&)>;
  explicit Table(OnRemoved on_removed = nullptr) : on_removed_(std::move(on_removed)) {}

  // ---- reading, as the present statement sees it; valid until the table is changed

  const Row* Find(const Transaction& reader, const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : VisibleOf(reader, found->second);
  }
  // Walks [from, to) upwards until `visit` (const Key&, const Row&) answers false.
  template <typename Visit>
  void Walk(const Transaction& reader, const Key& from, const Key& to, Visit visit) const {
    for (auto at = rows_.lower_bound(from); at != rows_.end() && at->first < to; ++at) {
      const Row* row = VisibleOf(reader, at->second);
      if (row != nullptr && !visit(at->first, *row)) return;
    }
  }
  template <typename Visit>
  void WalkAll(const Transaction& reader, Visit visit) const {
    for (const auto& [key, versions] : rows_) {
      const Row* row = VisibleOf(reader, versions);
      if (row != nullptr && !visit(key, *row)) return;
    }
  }
  // The same downwards, from the last below `to`.
  template <typename Visit>
  void WalkDown(const Transaction& reader, const Key& from, const Key& to, Visit visit) const {
    auto at = rows_.lower_bound(to);
    while (at != rows_.begin()) {
      --at;
      if (at->first < from) return;
      const Row* row = VisibleOf(reader, at->second);
      if (row != nullptr && !visit(at->first, *row)) return;
    }
  }
  // The first and the last in [from, to), or null.
  std::pair<const Key*, const Row*> First(const Transaction& reader, const Key& from,
                                          const Key& to) const {
    std::pair<const Key*, const Row*> first;
    Walk(reader, from, to, [&](const Key& key, const Row& row) {
      first = {&key, &row};
      return false;
    });
    return first;
  }
  std::pair<const Key*, const Row*> Last(const Transaction& reader, const Key& from,
                                         const Key& to) const {
    std::pair<const Key*, const Row*> last;
    WalkDown(reader, from, to, [&](const Key& key, const Row& row) {
      last = {&key, &row};
      return false;
    });
    return last;
  }

  // ---- writing; each may wait for others

  // INSERT .. ON CONFLICT DO NOTHING: whether it was inserted. It is not where a row of the key
  // stands, even one the statement does not see.
  Task<bool> Insert(Transaction& writer, Key key, Row row) {
    for (;;) {
      const Xid blocker = BlockerOf(writer, key);
      if (blocker == 0) break;
      co_await writer.WaitFor(blocker);
    }
    if (Stands(writer, key)) co_return false;
    const Xid xmin = writer.xid();
    const auto found = rows_.find(key);
    if (found != rows_.end()) {  // what others have tried and given up
      RemoveIf(found, [&](const Version& version) { return !HasCommitted(writer, version.xmin); });
    }
    rows_[key].push_back({std::move(row), xmin, 0, 0});
    co_return true;
  }

  // DELETE of the row the statement sees: whether it was there to be deleted.
  Task<bool> Delete(Transaction& writer, Key key) {
    Version* version = co_await Hold(writer, key);
    if (version == nullptr) co_return false;
    version->xmax = writer.xid();
    changed_.push_back(key);
    co_return true;
  }

  // UPDATE of the row the statement sees, or of the one that took its place while it waited.
  // `change` gets the new Row&. Whether there was one.
  template <typename Change>
  Task<bool> Update(Transaction& writer, Key key, Change change) {
    Version* version = co_await Hold(writer, key);
    if (version == nullptr) co_return false;
    Row row = version->row;
    change(row);
    const Xid xid = writer.xid();
    version->xmax = xid;
    changed_.push_back(key);
    rows_[key].push_back({std::move(row), xid, 0, 0});
    co_return true;
  }

  // SELECT .. FOR NO KEY UPDATE of the row the statement sees: a copy of it as it is then.
  Task<std::optional<Row>> Lock(Transaction& writer, Key key) {
    Version* version = co_await Hold(writer, key);
    if (version == nullptr) co_return std::nullopt;
    version->locker = writer.xid();
    co_return version->row;
  }

  // The same with SKIP LOCKED: never waits.
  RowLock TryLock(Transaction& writer, const Key& key) {
    Version* version = VisibleOf(writer, key);
    if (version == nullptr) return RowLock::kGone;
    if (writer.IsBusy(version->xmax) || writer.IsBusy(version->locker)) return RowLock::kBusy;
    if (version->xmax != 0 && writer.log().IsCommitted(version->xmax)) return RowLock::kGone;
    version->locker = writer.xid();
    return RowLock::kLocked;
  }

  // What an insert of the key has to wait for: who has inserted or deleted it without having ended;
  // 0: nobody.
  Xid BlockerOf(const Transaction& writer, const Key& key) const {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return 0;
    for (const Version& version : found->second) {
      if (writer.IsBusy(version.xmin)) return version.xmin;
      if (HasCommitted(writer, version.xmin) && writer.IsBusy(version.xmax)) return version.xmax;
    }
    return 0;
  }
  // Whether a row of the key stands, seen or not. REQUIRES: BlockerOf is 0
  bool Stands(const Transaction& writer, const Key& key) const {
    const auto found = rows_.find(key);
    return found != rows_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const Version& version) {
             return HasCommitted(writer, version.xmin) && !HasCommitted(writer, version.xmax);
           });
  }

  size_t size() const { return rows_.size(); }

  // ---- AnyTable

  void Vacuum(const CommitLog& log, Xid horizon) override {
    for (size_t left = changed_.size(); left > 0; --left) {
      const Key key = changed_.front();
      changed_.pop_front();
      const auto found = rows_.find(key);
      if (found == rows_.end()) continue;
      bool later = false;
      RemoveIf(found, [&](const Version& version) {
        if (log.IsInProgress(version.xmin)) return false;
        if (!log.IsCommitted(version.xmin)) return true;
        if (version.xmax == 0) return false;
        if (version.xmax < horizon && log.IsDurable(version.xmax)) return true;
        later |= log.IsCommitted(version.xmax) || log.IsInProgress(version.xmax);
        return false;
      });
      if (later) changed_.push_back(key);
    }
  }

  void Recover(const CommitLog& log) override {
    for (auto at = rows_.begin(); at != rows_.end();) {
      for (Version& version : at->second) {
        version.locker = 0;
        if (!log.IsCommitted(version.xmax)) version.xmax = 0;
      }
      const auto next = std::next(at);
      RemoveIf(at, [&](const Version& version) { return !log.IsCommitted(version.xmin); });
      at = next;
    }
  }

 private:
  using Rows = std::map<Key, Versions>;

  static bool HasCommitted(const Transaction& writer, Xid xid) {
    return xid != 0 && (writer.IsMine(xid) || writer.log().IsCommitted(xid));
  }

  static const Row* VisibleOf(const Transaction& reader, const Versions& versions) {
    for (auto at = versions.rbegin(); at != versions.rend(); ++at) {
      if (reader.Sees(at->xmin, at->xmax)) return &at->row;
    }
    return nullptr;
  }
  Version* VisibleOf(const Transaction& reader, const Key& key) {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return nullptr;
    for (auto at = found->second.rbegin(); at != found->second.rend(); ++at) {
      if (reader.Sees(at->xmin, at->xmax)) return &*at;
    }
    return nullptr;
  }
  // The version that stands now, whoever sees it.
  Version* StandingOf(const Transaction& writer, const Key& key) {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return nullptr;
    for (auto at = found->second.rbegin(); at != found->second.rend(); ++at) {
      if (HasCommitted(writer, at->xmin) && !HasCommitted(writer, at->xmax)) return &*at;
    }
    return nullptr;
  }

  // The row the statement sees, when nobody else holds it any more: where another has changed it
  // meanwhile, as it is now; null where it is gone.
  Task<Version*> Hold(Transaction& writer, Key key) {
    if (VisibleOf(writer, key) == nullptr) co_return nullptr;
    for (;;) {
      Version* version = StandingOf(writer, key);
      if (version == nullptr) co_return nullptr;
      const Xid holder = writer.IsBusy(version->xmax) ? version->xmax : version->locker;
      if (!writer.IsBusy(holder)) co_return version;
      co_await writer.WaitFor(holder);
    }
  }

  template <typename Condition>
  void RemoveIf(typename Rows::iterator at, Condition condition) {
    Versions& versions = at->second;
    const auto removed =
        std::stable_partition(versions.begin(), versions.end(),
                              [&](const Version& version) { return !condition(version); });
    if (removed == versions.begin() && on_removed_) {
      for (const Version& version : versions) on_removed_(at->first, version.row);
    }
    versions.erase(removed, versions.end());
    if (versions.empty()) rows_.erase(at);
  }

  OnRemoved on_removed_;
  Rows rows_;
  std::deque<Key> changed_;  // to be vacuumed
};

}  // namespace queen::simulator
