#include "simulator/observer.h"

#include "storage/lines.h"

namespace queen::simulator {
namespace {

template <typename Index, typename Value, typename Table>
int32_t Lookup(const Index& index, const Value& value, const Table& table,
               const Transaction& reader) {
  for (const int32_t id : index.Of(value)) {
    if (table.Find(reader, id) != nullptr) return id;
  }
  return 0;
}

bool AnyUnsettled(const ProgressRow* row, int64_t cursor, int64_t end) {
  if (cursor >= end) return false;
  if (row == nullptr || !row->settled) return true;
  const std::string& settled = *row->settled;
  const auto span = static_cast<size_t>(end - cursor);
  return settled.size() < span || settled.substr(0, span).find('0') != std::string::npos;
}

}  // namespace

std::vector<LaneView> Observer::Lanes(const std::string& queue, const std::string& group) {
  std::vector<LaneView> lanes;
  const std::unique_ptr<Transaction> look = database_.Look();
  const Catalog& catalog = database_.catalog();
  const int32_t queue_id = Lookup(catalog.queues_by_name, queue, catalog.queues, *look);
  const int32_t group_id =
      Lookup(catalog.groups_by_name, std::pair(queue_id, group), catalog.groups, *look);
  if (queue_id == 0 || group_id == 0) return lanes;
  const int64_t now = database_.ClockMicros();
  for (const int32_t id : catalog.partitions_by_queue.Of(queue_id)) {
    const PartitionRow* const partition = catalog.partitions.Find(*look, id);
    if (partition == nullptr) continue;
    LaneView lane{.partition_id = id, .partition = partition->name};
    const auto [last, segment] = catalog.segments.Last(*look, {id, 0}, {id, kSeqEnd});
    if (last != nullptr) lane.end = last->base_seq + segment->count;
    const LaneId key{id, group_id};
    const auto [newest, row] = catalog.progress.Last(*look, {key, 0}, {key, kSeqEnd});
    if (newest != nullptr) {
      lane.epoch = newest->epoch;
      lane.cursor = row->cursor;
    } else if (const auto* const start = catalog.group_starts.Find(*look, {group_id, id})) {
      lane.cursor = start->seq;
    }
    lane.open = AnyUnsettled(row, lane.cursor, lane.end);
    const bool held = row != nullptr && row->lease_until && *row->lease_until > now;
    const bool waits = row != nullptr && row->ready_at && *row->ready_at > now;
    lane.ready = lane.open && !held && !waits;
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

bool Observer::LacksGroup(const std::string& queue, const std::string& group) {
  const std::unique_ptr<Transaction> look = database_.Look();
  const Catalog& catalog = database_.catalog();
  const int32_t queue_id = Lookup(catalog.queues_by_name, queue, catalog.queues, *look);
  return queue_id != 0 &&
         Lookup(catalog.groups_by_name, std::pair(queue_id, group), catalog.groups, *look) == 0;
}

std::map<int64_t, std::string> Observer::Log(const std::string& queue,
                                             const std::string& partition) {
  std::map<int64_t, std::string> log;
  const std::unique_ptr<Transaction> look = database_.Look();
  const Catalog& catalog = database_.catalog();
  const int32_t queue_id = Lookup(catalog.queues_by_name, queue, catalog.queues, *look);
  const int32_t id =
      Lookup(catalog.partitions_by_name, std::pair(queue_id, partition), catalog.partitions, *look);
  std::vector<std::string_view> lines;
  catalog.segments.Walk(*look, {id, 0}, {id, kSeqEnd},
                        [&](const SegmentKey& key, const SegmentRow& row) {
                          if (row.texts == nullptr) return true;
                          const auto count = static_cast<size_t>(row.count);
                          (void)storage::SplitLines(row.texts->payloads, count, lines);
                          for (size_t i = 0; i < lines.size(); ++i) {
                            log[key.base_seq + static_cast<int64_t>(i)] = std::string(lines[i]);
                          }
                          return true;
                        });
  return log;
}

}  // namespace queen::simulator
