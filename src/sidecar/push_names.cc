// PushQueue, partitions by name: their ids are asked for many at once, and those that are not there
// are made. Until then what was pushed to them waits.
#include <algorithm>
#include <iterator>
#include <utility>

#include "sidecar/push.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr size_t kNamesPerEnsure = 500;

}  // namespace

void PushQueue::SendEnsure() {
  const size_t count = std::min(unresolved_.size(), kNamesPerEnsure);
  std::vector<Partition*> partitions(unresolved_.begin(),
                                     unresolved_.begin() + static_cast<ptrdiff_t>(count));
  unresolved_.erase(unresolved_.begin(), unresolved_.begin() + static_cast<ptrdiff_t>(count));
  pg::TextArray queues(count);
  pg::TextArray names(count);
  for (Partition* partition : partitions) {
    partition->state = State::kResolving;
    resolving_.insert(partition);
    queues.Add(partition->queue);
    names.Add(partition->name);
  }
  pg::Params params(2);
  params.Add(std::move(queues)).Add(std::move(names));
  scheduler_.Execute(*this, static_cast<int64_t>(count),
                     pg::Batch(storage::kEnsurePartitions, std::move(params)),
                     [this, partitions = std::move(partitions)](const pg::BatchResult& result) {
                       OnEnsured(partitions, result);
                     });
}

void PushQueue::OnEnsured(const std::vector<Partition*>& partitions,
                          const pg::BatchResult& result) {
  if (result.ok()) {
    const pg::Rows& rows = result.rows[0];
    for (int row = 0; row < rows.rows(); ++row) {
      Partition& partition = *partitions[static_cast<size_t>(rows.Int4(row, 0)) - 1];
      partition.id = PartitionId{rows.Int4(row, 2)};
      partition.encrypted = rows.Bool(row, 3);
      if (rows.Bool(row, 4)) born_(partition.queue);
    }
  } else if (result.outcome == pg::Outcome::kFailure && !result.status.retryable()) {
    for (Partition* partition : partitions) {
      std::deque<PushGroup> groups = std::exchange(partition->groups, {});
      const auto blamed =
          std::stable_partition(groups.begin(), groups.end(),
                                [&](const PushGroup& group) { return !IsToBlame(group, result); });
      std::move(groups.begin(), blamed, std::back_inserter(partition->groups));
      std::for_each(blamed, groups.end(), [&](PushGroup& group) { Fail(group, result.status); });
    }
  }
  // Making partitions twice does no harm, so any other end, also an unknown one, just goes again.
  for (Partition* partition : partitions) {
    resolving_.erase(partition);
    if (partition->id || partition->groups.empty()) {
      BecomeIdle(*partition);
    } else {
      Pause(*partition);
    }
  }
}

}  // namespace queen::sidecar
