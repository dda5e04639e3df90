// RandomCalls: calls of every statement the simulated database knows, on few names, so that they
// meet each other. What was answered before is used again: offsets, leases, states of lanes, keys
// of batches.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "simulator/database/testing/twins.h"
#include "storage/calls/load_lanes.h"

namespace queen::simulator {

class RandomCalls {
 public:
  RandomCalls(Twins& twins, uint64_t seed);

  void CallOne();
  // How often each statement was called.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  // A lane as both sides have answered it; they differ in the stamp.
  struct Lane {
    engine::LaneKey key;
    storage::load_lanes::Row real;
    storage::load_lanes::Row simulated;
  };
  // What is pushed to a partition.
  struct Segment {
    int32_t partition = 0;
    std::vector<std::string> txns;  // "" for none
    bool has_txns = false;
  };

  Twins::Answers Call(const pg::Statement& statement, pg::Params params);
  Twins::Answers Call(const pg::Statement& statement, pg::Params real, pg::Params simulated);

  void EnsurePartitions();
  void FindPartitions();
  void FindPopNames();
  void EnsureGroups();
  void FindFamily();
  void Push();
  void PushAndLease();
  void LoadIds();
  void IndexUntimed();
  void Heartbeat();
  void ResolveBatch();
  void Fetch();
  void Tail();
  void LoadLanes();
  void AppendLanes();
  void Resolve();
  void HasPending();
  void Renew();
  void FindAckTargets();
  void FindTransactionTargets();
  void FindDeadLetters();
  void Transaction();
  void Configure();
  void Delete();
  void Seek();
  void SweepProgress();
  void SweepSegments();
  void SweepBatches();

  engine::LaneAppend RandomAppend(const Lane& lane);
  std::vector<Segment> RandomSegments(bool always_txns);
  static void AddSegments(const std::vector<Segment>& segments, bool wait, int64_t known_to,
                          pg::Params& params, bool transaction);

  int64_t Between(int64_t low, int64_t high);
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  template <typename T>
  const T& OneOf(const std::vector<T>& values) {
    return values[static_cast<size_t>(Between(0, static_cast<int64_t>(values.size()) - 1))];
  }
  std::string Queue();
  std::string Partition();
  std::string Group();
  std::string Txn();
  int32_t PartitionId();
  int32_t GroupId();
  Uuid LeaseId();

  Twins& twins_;
  std::mt19937_64 random_;
  std::map<std::string, int> counts_;
  std::vector<int32_t> partitions_{1};
  std::vector<int32_t> groups_{1};
  std::vector<std::string> txns_{"order-1"};
  std::vector<std::pair<int32_t, int64_t>> bases_{{1, 0}};
  std::vector<Uuid> leases_;
  std::vector<Lane> lanes_;
  std::string real_since_;
  std::string simulated_since_;
  int64_t batches_ = 0;
};

}  // namespace queen::simulator
