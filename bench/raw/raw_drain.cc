// Lease, fetch and ack called directly, `segments_per_call` partitions at a time, until nothing is
// left: three round trips, and now and then a load, where the broker, with its cache, often needs
// two.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/clock.h"
#include "engine/lease_rule.h"
#include "engine/verdict_rule.h"
#include "raw/raw_connection.h"
#include "raw/raw_work.h"
#include "storage/calls/append_lanes.h"
#include "storage/calls/load_lanes.h"
#include "storage/procedures.h"

namespace queen::bench {
namespace {

constexpr const char* kGroup = "raw";

int32_t MakeGroup(const RawShape& shape, const std::string& queue) {
  RawConnection connection(shape.database);
  pg::TextArray queues;
  pg::TextArray groups;
  pg::TextArray modes;
  pg::TimestampTzArray times;
  queues.Add(queue);
  groups.Add(kGroup);
  modes.Add("all");
  times.AddNull();
  pg::Params params(4);
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(modes));
  params.Add(std::move(times));
  return connection.Execute(storage::kEnsureGroups, params).Int4(0, 2);
}

// What of a lane is listed by a load, as the broker does it: seldom loaded, and not kept whole.
constexpr int kSegmentsPerLoad = 4;

[[noreturn]] void Die(const std::string& reason) {
  fmt::print(stderr, "raw_reference: {}\n", reason);
  std::exit(1);
}

// Drains partitions that nobody else touches: what it remembers of a lane stays true.
class Drainer {
 public:
  Drainer(const RawShape& shape, int32_t group, const std::vector<int32_t>& partitions)
      : shape_(shape), group_(group), db_(shape.database) {
    for (const int32_t partition : partitions) lanes_.push_back({.key = KeyOf(partition)});
  }

  int64_t Run() {
    int64_t messages = 0;
    while (!lanes_.empty()) {
      const size_t count = std::min(lanes_.size(), static_cast<size_t>(shape_.segments_per_call));
      const auto end = lanes_.begin() + static_cast<ptrdiff_t>(count);
      std::vector<Lane> taken(std::make_move_iterator(lanes_.begin()),
                              std::make_move_iterator(end));
      lanes_.erase(lanes_.begin(), end);
      std::vector<Lane> leased = Lease(std::move(taken));
      if (leased.empty()) continue;
      Fetch(leased);
      Ack(leased);
      for (Lane& lane : leased) {
        messages += lane.lease.messages;
        lanes_.push_back(std::move(lane));
      }
    }
    return messages;
  }

 private:
  struct Lane {
    engine::LaneKey key;
    std::optional<engine::LoadedLane> known{};
    engine::LeaseOutcome lease{};
  };

  engine::LaneKey KeyOf(int32_t partition) const {
    return {PartitionId{partition}, GroupId{group_}};
  }

  // Those of `lanes` that had something.
  std::vector<Lane> Lease(std::vector<Lane> lanes) {
    const engine::LeaseRequest request{.lease_id = MakeUuidV7(),
                                       .messages_left = shape_.batch,
                                       .bytes_left = int64_t{32} << 20,
                                       .bytes_max = int64_t{32} << 20};
    Decide(lanes, request);
    std::vector<engine::LaneAsk> asks;
    for (const Lane& lane : lanes) {
      if (!lane.lease.next) asks.push_back({lane.key, shape_.batch * kSegmentsPerLoad});
    }
    if (!asks.empty()) {
      Load(asks, lanes);
      Decide(lanes, request);
    }
    std::erase_if(lanes, [](const Lane& lane) { return !lane.lease.next; });  // empty: done with it
    engine::AppendRequest appends;
    appends.sync = false;
    for (const Lane& lane : lanes) {
      engine::LaneAppend& append = AddTo(appends, lane, *lane.lease.next);
      append.lease_ms = lane.lease.lease_ms;
    }
    Append(storage::append_lanes::kLeaseStatement, appends, lanes);
    return lanes;
  }

  static void Decide(std::vector<Lane>& lanes, const engine::LeaseRequest& request) {
    for (Lane& lane : lanes) {
      lane.lease = {};
      if (!lane.known) continue;
      const auto& [progress, rules, log, name] = *lane.known;
      lane.lease = engine::DecideLease(progress, rules, log, request, WallMicros());
    }
  }

  void Load(const std::vector<engine::LaneAsk>& asks, std::vector<Lane>& lanes) {
    auto rows = storage::load_lanes::Decode(
        db_.Execute(storage::load_lanes::kStatement, storage::load_lanes::Encode(asks)));
    if (!rows.ok()) Die(rows.status().message());
    for (storage::load_lanes::Row& row : *rows) {
      const auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& one) {
        return one.key == asks[row.index].key;
      });
      lane->known = std::move(static_cast<engine::LoadedLane&>(row));
    }
  }

  // REQUIRES: lane.known
  static engine::LaneAppend& AddTo(engine::AppendRequest& appends, const Lane& lane,
                                   const engine::Progress& next) {
    return appends.lanes.emplace_back(engine::AppendBehind(lane.key, *lane.known, next));
  }

  void Append(const pg::Statement& statement, const engine::AppendRequest& appends,
              std::vector<Lane>& lanes) {
    if (lanes.empty()) return;
    const auto rows = storage::append_lanes::Decode(
        db_.Execute(statement, storage::append_lanes::Encode(appends)));
    if (!rows.ok()) Die(rows.status().message());
    for (const storage::append_lanes::Row& row : *rows) {
      if (row.state != engine::AppendState::kWon) {
        Die(fmt::format("{} was answered state {}", statement.name, static_cast<int>(row.state)));
      }
      engine::LoadedLane& known = *lanes[row.index].known;
      known.progress = *row.newest;
      engine::TrimLog(known.log, known.progress.cursor);
    }
  }

  void Fetch(const std::vector<Lane>& leased) {
    pg::Int4Array partitions;
    pg::Int8Array bases;
    for (const Lane& lane : leased) {
      for (const engine::SegmentSpan& segment : lane.lease.segments) {
        partitions.Add(lane.key.partition.value);
        bases.Add(segment.base_seq);
      }
    }
    pg::Params params(2);
    params.Add(std::move(partitions)).Add(std::move(bases));
    db_.Execute(storage::kFetch, params);
  }

  void Ack(std::vector<Lane>& leased) {
    engine::AppendRequest appends;
    for (const Lane& lane : leased) {
      engine::Verdicts verdicts;
      verdicts.base = lane.lease.cursor;
      verdicts.done.SetRange(0, lane.lease.end - lane.lease.cursor);
      const engine::VerdictOutcome outcome =
          engine::ApplyVerdicts(lane.known->progress, lane.known->rules, verdicts);
      engine::LaneAppend& append = AddTo(appends, lane, outcome.next);
      append.held = true;
      append.frees = outcome.released;
    }
    Append(storage::append_lanes::kAckStatement, appends, leased);
  }

  const RawShape& shape_;
  const int32_t group_;
  std::vector<Lane> lanes_;  // that may have more
  RawConnection db_;
};

}  // namespace

RawResult RawDrain(const RawShape& shape, const std::string& queue,
                   const std::vector<int32_t>& partitions) {
  const int32_t group = MakeGroup(shape, queue);
  std::atomic<int64_t> messages = 0;
  const double seconds = OnEachConnection(shape, partitions, [&](const std::vector<int32_t>& own) {
    messages += Drainer(shape, group, own).Run();
  });
  return {messages, seconds};
}

}  // namespace queen::bench
