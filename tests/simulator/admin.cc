#include "simulator/admin.h"

#include "storage/procedures.h"

namespace queen::simulator {
namespace {

constexpr int32_t kLanesMax = 1'000;         // of one step
constexpr int32_t kBatchesKeptSeconds = 60;  // longer than a world lasts

}  // namespace

void Admin::NextSoon() {
  const auto every = static_cast<uint64_t>(world_.plan().admin_micros);
  world_.time().After(static_cast<int64_t>(world_.Draw(2 * every)), [this] { Next(); });
}

void Admin::Next() {
  if (world_.draining()) return;
  if (!session_ || !world_.database().IsOpen(*session_)) {
    session_ = world_.database().Open({.on_lost = [this] {
      session_.reset();
      if (then_) std::exchange(then_, nullptr)(nullptr);
    }});
  }
  if (!session_) return NextSoon();
  switch (world_.Draw(6)) {
    case 0:
      return Move(Change::kToEnd);
    case 1:
    case 2:
      return Move(Change::kBack);
    case 3:
      return Move(Change::kDeleted);
    default:
      return Sweep();
  }
}

// Its end is not known after a crash.
void Admin::Execute(pg::Batch batch, Then then) {
  then_ = std::move(then);
  world_.database().Execute(*session_, std::move(batch), [this](pg::BatchResult result) {
    if (then_) std::exchange(then_, nullptr)(result.ok() ? &result : nullptr);
  });
}

void Admin::Move(Change change) {
  const std::string& queue = world_.plan().queues[world_.Draw(world_.plan().queues.size())];
  const std::string& group = world_.plan().groups[world_.Draw(world_.plan().groups.size())];
  pg::Params params;
  if (change == Change::kDeleted) {
    params.Text(group).Text(queue).Bool(true);
  } else {
    params.Text(queue).Text(group).Null(pg::oid::kText);
    params.Text(change == Change::kToEnd ? "end" : "offset").TimestampTz(0).Int8(0);
    params.Int4(0).Int4(kLanesMax);
  }
  const Truth::Moved moved{queue, group, change == Change::kToEnd, world_.Now()};
  world_.truth().OnMoveSent(moved);
  Execute(pg::Batch(change == Change::kDeleted ? storage::kDeleteGroup : storage::kSeek,
                    std::move(params)),
          [this, moved, change](const pg::BatchResult* result) {
            using End = Truth::MoveEnd;
            const bool sought = change != Change::kDeleted;
            const bool nothing = result != nullptr && sought && result->rows[0].Int4(0, 0) == 0;
            world_.truth().OnMoved(moved, result == nullptr ? End::kUnknown
                                          : nothing         ? End::kNothing
                                                            : End::kDone);
            world_.OnAdministered();
            if (result != nullptr) world_.wire().QueueChanged(world_.AnyAddress(), moved.queue);
            NextSoon();
          });
}

void Admin::Sweep() {
  const bool batches = world_.OneIn(4);
  pg::Params params;
  if (batches) {
    params.Int4(kBatchesKeptSeconds).Int4(kLanesMax).Int8(0);
  } else {
    params.Int4(0).Int4(0).Int4(kLanesMax);
  }
  Execute(pg::Batch(batches ? storage::kSweepBatches : storage::kSweepProgress, std::move(params)),
          [this](const pg::BatchResult*) { NextSoon(); });
}

}  // namespace queen::simulator
