// The questions of waiting pops: pop_sm_resolve, has_pending_messages.
#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {

Task<pg::Rows> ResolvePops(Call& call) {
  const int32_t queue_id = *call.arguments.Int4(1);
  const int32_t group_id = *call.arguments.Int4(2);
  const int32_t after = *call.arguments.Int4(3);
  const auto pages = static_cast<size_t>(*call.arguments.Int4(4));
  const int64_t now = call.transaction.Now();
  std::vector<int32_t> ids;
  const std::set<int32_t>& partitions = call.catalog.partitions_by_queue.Of(queue_id);
  for (auto at = partitions.upper_bound(after); at != partitions.end() && ids.size() < pages;
       ++at) {
    if (call.catalog.partitions.Find(call.transaction, *at) != nullptr) ids.push_back(*at);
  }
  Answer answer(
      {{"partition_id", oid::kInt4}, {"ready_in_ms", oid::kInt8}, {"next_after", oid::kInt4}});
  for (const int32_t id : ids) {
    const auto lane = AvailabilityOf(call.transaction, call.catalog, {id, group_id}, now);
    if (!lane || lane->state == Availability::kEmpty) continue;
    answer.Int4(id)
        .Int8(lane->state == Availability::kReady
                  ? 0
                  : MillisUntil(lane->ready_at.value_or(now), now, 1))
        .Null();
  }
  const GroupRow* group = call.catalog.groups.Find(call.transaction, group_id);
  if (group != nullptr && group->queue_id == queue_id &&
      call.catalog.queues.Find(call.transaction, queue_id) != nullptr) {
    answer.Null().Null();
    if (ids.size() == pages) {
      answer.Int4(ids.back());
    } else {
      answer.Null();
    }
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> HasPendingMessages(Call& call) {
  const Array<int32_t> partitions = call.arguments.Int4s(1);
  const Array<int32_t> groups = call.arguments.Int4s(2);
  const int64_t now = call.transaction.Now();
  Answer answer({{"ordinal", oid::kInt4}, {"pending", oid::kBool}, {"ready_in_ms", oid::kInt8}});
  for (size_t i = 0; i < partitions.size(); ++i) {
    const auto lane =
        AvailabilityOf(call.transaction, call.catalog, {partitions.At(i), groups.At(i)}, now);
    answer.Int4(static_cast<int32_t>(i + 1));
    if (!lane) {
      answer.Null().Null();
      continue;
    }
    answer.Bool(lane->state == Availability::kReady);
    if (lane->ready_at) {
      answer.Int8(MillisUntil(*lane->ready_at, now, 0));
    } else {
      answer.Null();
    }
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
