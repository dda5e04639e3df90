#include "simulator/database/commit_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace queen::simulator {

std::string Snapshot::ToText() const {
  return fmt::format("{}:{}:{}", xmin, xmax, fmt::join(active, ","));
}

Snapshot Snapshot::FromText(const std::string& text) {
  Snapshot snapshot;
  char* rest = nullptr;
  snapshot.xmin = std::strtoull(text.c_str(), &rest, 10);
  snapshot.xmax = std::strtoull(rest + 1, &rest, 10);
  while (rest[0] != '\0' && rest[1] != '\0') {
    snapshot.active.push_back(std::strtoull(rest + 1, &rest, 10));
  }
  return snapshot;
}

bool Snapshot::IsActive(Xid xid) const {
  return std::binary_search(active.begin(), active.end(), xid);
}

Xid CommitLog::Assign() {
  const Xid xid = next();
  records_.emplace_back();
  active_.push_back(xid);
  return xid;
}

Lsn CommitLog::Commit(Xid xid) {
  assert(IsInProgress(xid));
  return records_[PlaceOf(xid)].lsn = ++end_;
}

void CommitLog::Show(Xid xid) {
  assert(IsInProgress(xid) && records_[PlaceOf(xid)].lsn > 0);
  records_[PlaceOf(xid)].state = State::kCommitted;
  Leave(xid);
}

void CommitLog::Abort(Xid xid) {
  assert(IsInProgress(xid));
  records_[PlaceOf(xid)].state = State::kAborted;
  Leave(xid);
}

void CommitLog::Leave(Xid xid) {
  active_.erase(std::lower_bound(active_.begin(), active_.end(), xid));
}

Snapshot CommitLog::Take() const {
  return {active_.empty() ? next() : active_.front(), next(), active_};
}

void CommitLog::Flush(Lsn upto) {
  assert(upto <= end_);
  flushed_ = std::max(flushed_, upto);
}

void CommitLog::Confirm(Lsn upto) {
  assert(upto <= flushed_);
  confirmed_ = std::max(confirmed_, upto);
}

void CommitLog::Crash(Lsn prefix) {
  assert(safe() <= prefix && prefix <= end_);
  size_t kept = 0;
  for (size_t place = 0; place < records_.size(); ++place) {
    Record& record = records_[place];
    // What was written is kept, whether its session has shown it or not.
    const bool stands = record.state != State::kAborted && record.lsn > 0 && record.lsn <= prefix;
    record.state = stands ? State::kCommitted : State::kAborted;
    if (stands) kept = place + 1;
  }
  records_.resize(kept);
  active_.clear();
  end_ = flushed_ = confirmed_ = prefix;
}

}  // namespace queen::simulator
