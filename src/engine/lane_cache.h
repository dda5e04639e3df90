// LaneCache: the lanes that one worker has met, as it believes them to be. A lane in here is a
// guess. A decision made from it is proved by the append that wins, and by nothing else; that there
// is nothing to take, or that a lease is over, its users believe only of a lane that they have
// loaded since the request came.
//
// Bounded: the lane that was used least recently is forgotten first. Everything is forgotten when a
// connection is lost, here or in another worker (`generation`): the database behind it may have
// gone back in time.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/lane.h"

namespace queen::engine {

struct LaneKey {
  PartitionId partition;
  GroupId group;

  bool operator==(const LaneKey&) const = default;
};

struct LaneKeyHash {
  size_t operator()(const LaneKey& key) const {
    const auto both = static_cast<uint64_t>(static_cast<uint32_t>(key.partition.value)) << 32 |
                      static_cast<uint32_t>(key.group.value);
    return std::hash<uint64_t>()(both * 0x9E3779B97F4A7C15ULL);
  }
};

// What a load tells of a lane.
struct LoadedLane {
  Progress progress;
  QueueRules rules;
  LogView log;
  std::string partition_name;
};

using Lane = LoadedLane;

// The generation of a process, shared by its workers: rises when any of them loses a connection.
class Generation {
 public:
  void Advance() { number_.fetch_add(1, std::memory_order_acq_rel); }
  int64_t number() const { return number_.load(std::memory_order_acquire); }

 private:
  std::atomic<int64_t> number_{1};
};

class LaneCache {
 public:
  // Partitions written to while loads are in flight that are told apart.
  static constexpr size_t kTouchedMax = 10'000;

  // Remembers up to `lanes_max` lanes, and of them all `segments_max` segments.
  LaneCache(const Generation& generation, size_t lanes_max, size_t segments_max);

  // A load begins: its number. It ends when its answer has been put in, or will not come.
  int64_t BeginLoad();
  void EndLoad();
  // The generation that an answer must still be of to be put in.
  int64_t generation() const { return generation_.number(); }

  // nullptr: not known. The lane is good until the next call of a method that is not const.
  Lane* Find(const LaneKey& key);
  // The same for who could do without: it counts for nothing.
  const Lane* Peek(const LaneKey& key);
  // What load number `load`, begun in `generation`, has told.
  void Put(const LaneKey& key, LoadedLane lane, int64_t load, int64_t generation);
  // What an append begun in `generation` has told of the lane's state. The older of two is not
  // believed.
  void Update(const LaneKey& key, Progress progress, int64_t generation);
  void Drop(const LaneKey& key);
  // Somebody else may have moved every lane of the group. Looks at all that is remembered.
  void DropGroup(GroupId group);
  void Clear();

  // This process has stored a segment: every lane of the partition that knew the end of the log
  // knows it on.
  void Pushed(PartitionId partition, const SegmentSpan& segment);
  // Somebody else may have written to the partition.
  void Doubt(PartitionId partition);

  size_t size() const { return lanes_.size(); }
  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }

 private:
  struct Entry {
    Lane lane;
    std::list<LaneKey>::iterator place;  // in used_
    size_t listed = 0;                   // segments, as counted in listed_
  };

  void CatchUp();
  void Touch(PartitionId partition);
  void Count(Entry& entry);
  void Erase(const LaneKey& key);

  const Generation& generation_;
  const size_t lanes_max_;
  const size_t segments_max_;
  size_t listed_ = 0;
  int64_t seen_generation_;
  int64_t loads_ = 0;
  int loads_in_flight_ = 0;
  // Partitions written to while loads were in flight, and how many loads had begun then: their
  // snapshots may be older.
  std::unordered_map<int32_t, int64_t> touched_;
  int64_t all_touched_ = 0;  // the same for every partition, once there were too many to name
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  std::unordered_map<LaneKey, Entry, LaneKeyHash> lanes_;
  std::unordered_map<int32_t, std::vector<GroupId>> groups_;  // of each partition's lanes
  std::list<LaneKey> used_;                                   // the least recently used first
};

// `segment` was stored in the log that `log` knows.
void ExtendLog(LogView& log, const SegmentSpan& segment);
// Forgets what is listed below `cursor`.
void TrimLog(LogView& log, int64_t cursor);

}  // namespace queen::engine
