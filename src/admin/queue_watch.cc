#include "admin/queue_watch.h"

#include <algorithm>

#include "base/log.h"
#include "storage/procedures.h"

namespace queen::admin {

int64_t QueueWatch::Depth::Unconsumed() const {
  if (groups.empty()) return stored;
  int64_t least_idle_ms = INT64_MAX;
  for (const auto& [id, group] : groups) least_idle_ms = std::min(least_idle_ms, group.idle_ms);
  int64_t most = 0;
  for (const auto& [id, group] : groups) {
    const bool active = group.idle_ms <= std::max(kActiveMs, least_idle_ms);
    if (active) most = std::max(most, group.unconsumed);
  }
  return most;
}

QueueWatch::QueueWatch(AdminPool& pool, state::QueueCapacity& capacity)
    : pool_(pool), capacity_(capacity), timer_(pool.loop(), [this] { OnTick(); }) {}

void QueueWatch::Start() {
  pool_.loop().AssertOwner();
  stopped_ = false;
  timer_.Start(0, kTickMs);
}

void QueueWatch::Stop() {
  pool_.loop().AssertOwner();
  stopped_ = true;
  timer_.Stop();
}

void QueueWatch::Look() {
  pool_.loop().AssertOwner();
  if (!stopped_) OnTick();
}

void QueueWatch::OnTick() {
  if (in_flight_) return;
  pages_ = 0;
  listing_begun_ = capacity_.BeginListing();
  limits_.clear();
  List(0);
}

void QueueWatch::Ask(const pg::Statement& statement, pg::Params params,
                     void (QueueWatch::*take)(const pg::BatchResult& result)) {
  in_flight_ = true;
  pool_.Execute(pool_.loop(), pg::Batch(statement, std::move(params)),
                [this, take](const pg::BatchResult& result) {
                  in_flight_ = false;
                  if (stopped_) return;
                  if (result.ok()) return (this->*take)(result);
                  // What is known stays; a measurement begins anew.
                  left_.clear();
                  log::Debug("queues with a limit could not be measured",
                             {{"error", result.status.ToString()}});
                });
}

// ---- which queues have a limit

void QueueWatch::List(int32_t after) {
  pg::Params params(2);
  params.Int4(after).Int4(kLimitsPerPage);
  Ask(storage::kListQueueLimits, std::move(params), &QueueWatch::OnListed);
}

void QueueWatch::OnListed(const pg::BatchResult& result) {
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    limits_.push_back(
        {std::string(rows.Text(row, 1)), QueueId{rows.Int4(row, 0)}, rows.Int8(row, 2)});
  }
  if (rows.rows() == kLimitsPerPage) return List(limits_.back().id.value);
  capacity_.EndListing(listing_begun_, limits_);
  if (left_.empty()) {
    left_ = capacity_.BeginMeasuring();
    after_ = 0;
    depths_.clear();
  }
  Measure();
}

// ---- how full they are

void QueueWatch::Measure() {
  if (left_.empty() || ++pages_ > kPagesPerTick) return;
  const size_t count = std::min(left_.size(), kQueuesPerPage);
  pg::Int4Array ids(count, 4);
  for (size_t i = 0; i < count; ++i) ids.Add(left_[i].value);
  pg::Params params(3);
  params.Add(std::move(ids)).Int4(after_).Int4(kProbesPerPage);
  Ask(storage::kQueueDepths, std::move(params), &QueueWatch::OnMeasured);
}

void QueueWatch::OnMeasured(const pg::BatchResult& result) {
  const pg::Rows& rows = result.rows[0];
  size_t finished = std::min(left_.size(), kQueuesPerPage);
  after_ = 0;
  for (int row = 0; row < rows.rows(); ++row) {
    if (!rows.IsNull(row, 4)) {  // not all of them: the next page begins within this one
      const auto next = std::find(left_.begin(), left_.end(), QueueId{rows.Int4(row, 4)});
      finished = static_cast<size_t>(next - left_.begin());
      after_ = rows.Int4(row, 5);
    }
    if (rows.IsNull(row, 0)) continue;
    Depth& depth = depths_[rows.Int4(row, 0)];
    if (rows.IsNull(row, 1)) {
      depth.stored += rows.Int8(row, 2);
      continue;
    }
    const auto [place, is_new] = depth.groups.try_emplace(rows.Int4(row, 1));
    Depth::Group& group = place->second;
    group.unconsumed += rows.Int8(row, 2);
    const int64_t idle_ms = rows.Int8(row, 3);
    group.idle_ms = is_new ? idle_ms : std::min(group.idle_ms, idle_ms);
  }
  for (size_t i = 0; i < finished; ++i) {
    capacity_.EndMeasuring(left_[i], depths_[left_[i].value].Unconsumed());
    depths_.erase(left_[i].value);
  }
  left_.erase(left_.begin(), left_.begin() + static_cast<ptrdiff_t>(finished));
  Measure();
}

}  // namespace queen::admin
