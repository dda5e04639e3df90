#include "sidecar/untimed_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "storage/procedures.h"
#include "storage/txn_time.h"

namespace queen::sidecar {
namespace {

// The hashes of the ids without a time inside; one id per line, "" = none.
void AddHashes(std::string_view txns, std::vector<uint64_t>& hashes) {
  while (!txns.empty()) {
    const size_t end = std::min(txns.find('\n'), txns.size());
    const std::string_view txn = txns.substr(0, end);
    if (!txn.empty() && !storage::TimeInside(txn)) hashes.push_back(KeyedHash(txn));
    txns.remove_prefix(std::min(end + 1, txns.size()));
  }
}

}  // namespace

void UntimedKeeper::OnStored(Entry& entry, PartitionId id, int64_t base_seq, int64_t count,
                             std::span<const uint64_t> hashes) {
  entry.id = id;
  if (entry.memory.empty()) {
    if (hashes.empty()) return;
    // What was stored before may never have been indexed.
    if (base_seq > 0) entry.unindexed_ids = kIndexIds;
  }
  entry.memory.Append(base_seq, count, hashes);
  Use(entry);
  if (!hashes.empty()) NoteUnindexed(entry, hashes.size());
  MakeRoom();
  if (!entry.memory.empty()) Fill(entry);
}

void UntimedKeeper::Forget(Entry& entry) {
  entry.memory.Clear();
  if (entry.in_use) used_.erase(entry.place);
  entry.in_use = false;
  if (std::exchange(entry.waits, false)) std::erase(waiting_, &entry);
  if (loading_entry_ == &entry) loading_entry_ = nullptr;
}

// ---- room

void UntimedKeeper::Use(Entry& entry) {
  if (entry.in_use) {
    used_.splice(used_.end(), used_, entry.place);
  } else {
    entry.place = used_.insert(used_.end(), &entry);
    entry.in_use = true;
  }
}

void UntimedKeeper::MakeRoom() {
  while (room_.IsFull() && !used_.empty()) {
    Entry& oldest = *used_.front();
    oldest.memory.DropOldest();
    if (oldest.memory.empty()) Forget(oldest);
  }
}

// ---- fill

std::optional<UntimedKeeper::Page> UntimedKeeper::NextPage(const Entry& entry) const {
  const UntimedMemory& memory = entry.memory;
  if (memory.empty()) return std::nullopt;
  if (memory.gap() >= kGapLoadMin) return Page{memory.to(), memory.to() + memory.gap()};
  if (memory.from() > 0 && room_.MayLoad()) return Page{std::nullopt, memory.from()};
  return std::nullopt;
}

void UntimedKeeper::Fill(Entry& entry) {
  if (entry.waits || loading_entry_ == &entry || !NextPage(entry)) return;
  entry.waits = true;
  waiting_.push_back(&entry);
  LoadNext();
}

void UntimedKeeper::LoadNext() {
  while (!loading_ && !waiting_.empty()) {
    Entry& entry = *waiting_.front();
    waiting_.pop_front();
    entry.waits = false;
    const std::optional<Page> page = NextPage(entry);
    if (!page) continue;
    loading_ = true;
    loading_entry_ = &entry;
    pg::Params params(3);
    params.Int4(entry.id.value);
    if (page->from) {
      params.Int8(*page->from);
    } else {
      params.Null(pg::oid::kInt8);
    }
    params.Int8(page->to);
    lookups_.Ask(storage::kLoadIds, std::move(params),
                 [this, page = *page](const pg::BatchResult& result) { OnLoaded(page, result); });
  }
}

void UntimedKeeper::OnLoaded(const Page& page, const pg::BatchResult& result) {
  loading_ = false;
  Entry* const entry = std::exchange(loading_entry_, nullptr);
  if (!result.ok()) {  // their next pushes ask again
    for (Entry* waiting : std::exchange(waiting_, {})) waiting->waits = false;
    return;
  }
  if (entry != nullptr) {
    Take(*entry, page, result.rows[0]);
    MakeRoom();
    Fill(*entry);
  }
  LoadNext();
}

// Rows are whole segments, from the page's near end on. No row: there is nothing further.
void UntimedKeeper::Take(Entry& entry, const Page& page, const pg::Rows& rows) const {
  UntimedMemory& memory = entry.memory;
  if (memory.empty() || (page.from ? memory.to() != *page.from : memory.from() != page.to)) return;
  int64_t low = page.from ? *page.from : 0;
  int64_t high = page.from ? *page.from : page.to;
  std::vector<uint64_t> hashes;
  for (int row = 0; row < rows.rows(); ++row) {
    low = row == 0 ? rows.Int8(row, 0) : std::min(low, rows.Int8(row, 0));
    high = std::max(high, rows.Int8(row, 0) + rows.Int4(row, 1));
    if (!rows.IsNull(row, 2)) AddHashes(rows.Text(row, 2), hashes);
  }
  if (page.from) {
    memory.Extend(rows.rows() == 0 ? page.to : high, hashes);
  } else {
    memory.ExtendBack(low, hashes);
  }
}

// ---- index

void UntimedKeeper::NoteUnindexed(Entry& entry, size_t ids) {
  entry.unindexed_ids += static_cast<int64_t>(ids);
  ++entry.unindexed_segments;
  if (entry.unindexed_ids < kIndexIds && entry.unindexed_segments < kIndexSegments) return;
  entry.unindexed_ids = 0;
  entry.unindexed_segments = 0;
  if (!index_wanted_.insert(entry.id.value).second) return;
  to_index_.push_back(entry.id);
  IndexNext();
}

void UntimedKeeper::IndexNext() {
  if (indexing_ || to_index_.empty()) return;
  indexing_ = true;
  const PartitionId id = to_index_.front();
  to_index_.pop_front();
  pg::Params params(1);
  params.Int4(id.value);
  lookups_.Ask(storage::kIndexUntimed, std::move(params),
               [this, id](const pg::BatchResult& result) {
                 indexing_ = false;
                 if (!result.ok()) {  // others will come to the same number of segments
                   to_index_.clear();
                   index_wanted_.clear();
                   return;
                 }
                 if (result.rows[0].Bool(0, 0)) {
                   to_index_.push_back(id);  // there may be more
                 } else {
                   index_wanted_.erase(id.value);
                 }
                 IndexNext();
               });
}

}  // namespace queen::sidecar
