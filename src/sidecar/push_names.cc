// PushQueue, partitions by name: their ids are looked up many at once, and those that are not there
// are made by calls of their own. Until then what was pushed to them waits.
//
// A look-up waits for nobody. Making names may: for whoever makes the same ones, for a lock, behind
// a client that makes very many. So one such call is in flight at a time, and it comes on top of
// those that pushes may have: names that are there never wait for new ones.
#include <algorithm>
#include <iterator>
#include <utility>

#include "sidecar/push.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr size_t kNamesPerCall = 500;

}  // namespace

void PushQueue::SendFind() {
  const size_t count = std::min(unresolved_.size(), kNamesPerCall);
  std::vector<Partition*> partitions(unresolved_.begin(),
                                     unresolved_.begin() + static_cast<ptrdiff_t>(count));
  unresolved_.erase(unresolved_.begin(), unresolved_.begin() + static_cast<ptrdiff_t>(count));
  for (Partition* partition : partitions) {
    partition->state = State::kResolving;
    resolving_.insert(partition);
  }
  pg::Params params = NamesOf(partitions);
  scheduler_.Execute(*this, static_cast<int64_t>(count),
                     pg::Batch(storage::kFindPartitions, std::move(params)),
                     [this, partitions = std::move(partitions)](const pg::BatchResult& result) {
                       OnFound(partitions, result);
                     });
}

void PushQueue::OnFound(const std::vector<Partition*>& partitions, const pg::BatchResult& result) {
  if (!result.ok()) {
    for (Partition* partition : partitions) FailNaming(*partition, result);
    return;
  }
  std::vector<bool> found(partitions.size(), false);
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const auto index = static_cast<size_t>(rows.Int4(row, 0)) - 1;
    found[index] = true;
    TakeId(*partitions[index], rows, row);
  }
  for (size_t i = 0; i < partitions.size(); ++i) {
    if (!found[i]) missing_.push_back(partitions[i]);
  }
  MakeMissing();
}

// Makes the next partitions, unless a call is on its way: its end comes here again.
void PushQueue::MakeMissing() {
  if (making_) return;
  std::vector<Partition*> partitions;
  while (!missing_.empty() && partitions.size() < kNamesPerCall) {
    Partition* partition = missing_.front();
    missing_.pop_front();
    ExpireGroups(*partition);
    if (!partition->groups.empty()) {
      partitions.push_back(partition);
      continue;
    }
    resolving_.erase(partition);  // nobody waits for it any more
    BecomeIdle(*partition);
  }
  if (partitions.empty()) return;
  making_ = true;
  pg::Batch batch =
      BeginBatch(std::any_of(partitions.begin(), partitions.end(), [](const Partition* partition) {
        return HasReplays(partition->groups);
      }));
  batch.Add(storage::kEnsurePartitions, NamesOf(partitions));
  names_.Ask(std::move(batch), [this, partitions = std::move(partitions)](
                                   const pg::BatchResult& result) { OnMade(partitions, result); });
}

void PushQueue::OnMade(const std::vector<Partition*>& partitions, const pg::BatchResult& result) {
  making_ = false;
  if (result.ok()) {
    const pg::Rows& rows = result.rows.back();
    for (int row = 0; row < rows.rows(); ++row) {
      Partition& partition = *partitions[static_cast<size_t>(rows.Int4(row, 0)) - 1];
      if (rows.Bool(row, 4)) born_(partition.queue);
      TakeId(partition, rows, row);
    }
  }
  for (Partition* partition : partitions) {
    if (resolving_.contains(partition)) FailNaming(*partition, result);
  }
  MakeMissing();
}

pg::Params PushQueue::NamesOf(const std::vector<Partition*>& partitions) {
  pg::TextArray queues(partitions.size());
  pg::TextArray names(partitions.size());
  for (const Partition* partition : partitions) {
    queues.Add(partition->queue);
    names.Add(partition->name);
  }
  pg::Params params(2);
  params.Add(std::move(queues)).Add(std::move(names));
  return params;
}

void PushQueue::TakeId(Partition& partition, const pg::Rows& rows, int row) {
  partition.id = PartitionId{rows.Int4(row, 2)};
  partition.encrypted = rows.Bool(row, 3);
  resolving_.erase(&partition);
  BecomeIdle(partition);
}

// There is no id for it. Making partitions twice does no harm, so it goes again after any end, also
// an unknown one, unless PostgreSQL has refused it.
void PushQueue::FailNaming(Partition& partition, const pg::BatchResult& result) {
  resolving_.erase(&partition);
  if (result.outcome == pg::Outcome::kFailure && !result.status.retryable()) {
    std::deque<PushGroup> groups = std::exchange(partition.groups, {});
    const auto blamed =
        std::stable_partition(groups.begin(), groups.end(),
                              [&](const PushGroup& group) { return !IsToBlame(group, result); });
    std::move(groups.begin(), blamed, std::back_inserter(partition.groups));
    std::for_each(blamed, groups.end(), [&](PushGroup& group) { Fail(group, result.status); });
  }
  if (partition.groups.empty()) {
    BecomeIdle(partition);
  } else {
    Pause(partition);
  }
}

}  // namespace queen::sidecar
