#include "engine/lane_cache.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace queen::engine {
namespace {

// Segments listed of one lane. What is behind them is loaded when the cursor comes near.
constexpr size_t kListedMax = 400;

}  // namespace

void ExtendLog(LogView& log, const SegmentSpan& segment) {
  if (segment.end() <= log.end) return;  // heard before
  const bool next = segment.base_seq == log.end && log.known_end == log.end;
  if (next && log.segments.size() < kListedMax) {
    log.segments.push_back(segment);
    log.known_end = segment.end();
  }
  log.end = segment.end();
  log.live_end = log.end;
  log.newest_micros = segment.created_micros + segment.count - 1;
}

void TrimLog(LogView& log, int64_t cursor) {
  const auto first =
      std::find_if(log.segments.begin(), log.segments.end(),
                   [cursor](const SegmentSpan& segment) { return segment.end() > cursor; });
  log.segments.erase(log.segments.begin(), first);
}

LaneCache::LaneCache(const Generation& generation, size_t lanes_max, size_t segments_max)
    : generation_(generation),
      lanes_max_(lanes_max),
      segments_max_(segments_max),
      seen_generation_(generation.number()) {}

// What was believed in an older generation is forgotten.
void LaneCache::CatchUp() {
  const int64_t number = generation_.number();
  if (number == seen_generation_) return;
  seen_generation_ = number;
  if (!QUEEN_PLANTED(kGenerationsKept)) Clear();
}

Lane* LaneCache::Find(const LaneKey& key) {
  CatchUp();
  const auto found = lanes_.find(key);
  ++(found == lanes_.end() ? misses_ : hits_);
  if (found == lanes_.end()) return nullptr;
  used_.splice(used_.end(), used_, found->second.place);
  return &found->second.lane;
}

const Lane* LaneCache::Peek(const LaneKey& key) {
  CatchUp();
  const auto found = lanes_.find(key);
  return found == lanes_.end() ? nullptr : &found->second.lane;
}

void LaneCache::Put(const LaneKey& key, LoadedLane lane, int64_t load, int64_t generation) {
  CatchUp();
  if (generation != seen_generation_) return;
  const auto touched = touched_.find(key.partition.value);
  lane.log.open = (touched != touched_.end() && touched->second >= load) || all_touched_ >= load;
  const auto found = lanes_.find(key);
  if (found != lanes_.end()) {
    Lane& known = found->second.lane;
    // An append of ours may have come between the load's snapshot and its answer, and so may a
    // push.
    const bool newer = known.progress.epoch > lane.progress.epoch;
    Progress progress = newer ? std::move(known.progress) : std::move(lane.progress);
    const int64_t end = known.log.end;
    const int64_t newest_micros = known.log.newest_micros;
    known = std::move(lane);
    known.progress = std::move(progress);
    if (end > known.log.end) {
      known.log.end = known.log.live_end = end;
      known.log.newest_micros = newest_micros;
    }
    Count(found->second);
    return;
  }
  while (!used_.empty() && (lanes_.size() >= lanes_max_ || listed_ >= segments_max_))
    Erase(used_.front());
  Entry entry;
  entry.lane = std::move(lane);
  entry.place = used_.insert(used_.end(), key);
  Count(lanes_.emplace(key, std::move(entry)).first->second);
  groups_[key.partition.value].push_back(key.group);
}

void LaneCache::Update(const LaneKey& key, Progress progress, int64_t generation) {
  CatchUp();
  const auto found = lanes_.find(key);
  if (generation != seen_generation_ || found == lanes_.end()) return;
  Lane& lane = found->second.lane;
  if (progress.epoch < lane.progress.epoch) return;
  // A cursor that goes back was moved by a seek: the log is not known there.
  if (progress.cursor < lane.progress.cursor) {
    Erase(key);
    return;
  }
  lane.progress = std::move(progress);
  TrimLog(lane.log, lane.progress.cursor);
  Count(found->second);
}

void LaneCache::Drop(const LaneKey& key) {
  if (lanes_.contains(key)) Erase(key);
}

void LaneCache::DropGroup(GroupId group) {
  std::vector<LaneKey> moved;
  for (const auto& [key, entry] : lanes_) {
    if (key.group == group) moved.push_back(key);
  }
  for (const LaneKey& key : moved) Erase(key);
}

void LaneCache::Erase(const LaneKey& key) {
  const LaneKey gone = key;  // `key` may be the one in used_
  const auto groups = groups_.find(gone.partition.value);
  std::erase(groups->second, gone.group);
  if (groups->second.empty()) groups_.erase(groups);
  const auto found = lanes_.find(gone);
  listed_ -= found->second.listed;
  used_.erase(found->second.place);
  lanes_.erase(found);
}

void LaneCache::Clear() {
  lanes_.clear();
  groups_.clear();
  used_.clear();
  listed_ = 0;
}

// The number of segments it lists may have changed.
void LaneCache::Count(Entry& entry) {
  listed_ += entry.lane.log.segments.size() - entry.listed;
  entry.listed = entry.lane.log.segments.size();
}

int64_t LaneCache::BeginLoad() {
  ++loads_in_flight_;
  return ++loads_;
}

void LaneCache::EndLoad() {
  if (--loads_in_flight_ == 0) touched_.clear();
}

void LaneCache::Touch(PartitionId partition) {
  if (loads_in_flight_ == 0) return;
  if (touched_.size() >= kTouchedMax) {
    touched_.clear();
    all_touched_ = loads_;
  }
  touched_[partition.value] = loads_;
}

void LaneCache::Pushed(PartitionId partition, const SegmentSpan& segment) {
  Touch(partition);
  const auto groups = groups_.find(partition.value);
  if (groups == groups_.end()) return;
  for (const GroupId group : groups->second) {
    Entry& entry = lanes_.find(LaneKey{partition, group})->second;
    ExtendLog(entry.lane.log, segment);
    Count(entry);
  }
}

void LaneCache::Doubt(PartitionId partition) {
  Touch(partition);
  const auto groups = groups_.find(partition.value);
  if (groups == groups_.end()) return;
  for (const GroupId group : groups->second) {
    lanes_.find(LaneKey{partition, group})->second.lane.log.open = true;
  }
}

}  // namespace queen::engine
