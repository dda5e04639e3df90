#include "sidecar/sidecar.h"

#include <algorithm>

#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// Few write transactions at once make large batches, and never all slots: a flood of pushes must
// not keep the others waiting. Those may use every slot.
constexpr int kPushesInFlightMax = 2;
constexpr int kAcksInFlightMax = 2;
// They may wait for locks, so the others must have slots left.
constexpr int kTransactionsInFlightMax = 2;

}  // namespace

Sidecar::Sidecar(Loop& loop, std::unique_ptr<pg::Storage> storage, const SidecarOptions& options,
                 state::DeliveredIndex& delivered, state::QueueCapacity& capacity,
                 const storage::PayloadCipher& cipher, Notices& notices)
    : loop_(loop),
      broker_(options.broker),
      away_after_ms_(options.away_after_ms),
      buffer_(options.buffer),
      delivered_(delivered),
      generation_(*options.generation),
      storage_(std::move(storage)),
      scheduler_(loop, *storage_, options.hold_ms),
      names_(scheduler_),
      fills_(scheduler_),
      own_room_(PushLimits::kUntimedBytesMax),
      cache_(options.segment_cache_bytes),
      lanes_(generation_, options.lanes_max, options.lane_segments_max),
      push_(
          loop, scheduler_, names_, fills_, options.room != nullptr ? *options.room : own_room_,
          cache_, capacity, cipher, lanes_, clock_, pop_, options.push, options.broker,
          [&notices](std::string_view queue, std::string_view partition, PartitionId id,
                     const std::vector<engine::SegmentSpan>& segments) {
            notices.Pushed(queue, partition, id, segments);
          },
          [&notices](std::string_view queue) { notices.Born(queue); },
          PushDetour{options.buffer, [this] { return DatabaseAway(); }}),
      pop_(loop, scheduler_, names_, cache_, lanes_, clock_, options.pop, options.broker,
           options.own, options.replies, options.peers),
      ack_(loop, scheduler_, delivered, lanes_, clock_, pop_, options.ack, options.broker,
           [&notices](const state::AckTarget& target, PartitionId partition, std::string_view group,
                      const LeaseEnd& end) {
             notices.Freed(target.queue_name, target.partition_name, partition, group, end);
           }),
      transaction_(
          loop, scheduler_, names_, delivered, capacity, cipher, options.transaction,
          -options.broker,
          [&notices](std::string_view queue, std::string_view partition, PartitionId id) {
            notices.Pushed(queue, partition, id, {});
          },
          // A retryDelay is found out by the pop that comes too early.
          [&notices](std::string_view queue, std::string_view partition, PartitionId id,
                     std::string_view group) { notices.Freed(queue, partition, id, group, {}); },
          [&notices](std::string_view queue) { notices.Born(queue); }),
      renew_(loop, scheduler_),
      lookups_(scheduler_),
      last_commit_ms_(loop.NowMillis()),
      down_since_ms_(loop.NowMillis()),
      heartbeat_(loop, [this] { OnHeartbeatDue(); }) {
  scheduler_.Add(push_, Operation::kPush, std::clamp(options.slots - 1, 1, kPushesInFlightMax));
  scheduler_.Add(pop_, Operation::kPop, options.slots);
  scheduler_.Add(ack_, Operation::kAck, kAcksInFlightMax);
  scheduler_.Add(transaction_, Operation::kTransaction, kTransactionsInFlightMax);
  scheduler_.Add(renew_, Operation::kRenewLease, 1);
  scheduler_.Add(lookups_, Operation::kPop, 1);
  scheduler_.Add(names_, Operation::kPush, 1);
  scheduler_.Add(fills_, Operation::kPush, 1);
}

Sidecar::~Sidecar() = default;

void Sidecar::Start() {
  started_ = true;
  heartbeat_.Start(kHeartbeatMs, kHeartbeatMs);
  storage_->Start({.on_free = [this](int) { scheduler_.Wake(); },
                   .on_up = [this](int) { OnUp(); },
                   .on_down = [this](int, const Status&) { OnDown(); }});
}

void Sidecar::Close(UniqueFunction<void()> done) {
  heartbeat_.Stop();
  storage_->Close([this, done = std::move(done)]() mutable {
    names_.Refuse(Status(Code::kShuttingDown));  // first: who asked waits again
    fills_.Refuse(Status(Code::kShuttingDown));
    push_.Shutdown();
    ack_.Shutdown();
    renew_.Refuse(Status(Code::kShuttingDown));
    lookups_.Refuse(Status(Code::kShuttingDown));
    pop_.Shutdown();
    done();
  });
}

bool Sidecar::database_up() const {
  return started_ && scheduler_.AnyUp() && last_beat_ms_ > 0 &&
         loop_.NowMillis() - last_beat_ms_ < kHeartbeatLateMs;
}

bool Sidecar::DatabaseAway() {
  const int64_t now = loop_.NowMillis();
  if ((down_since_ms_ && now - *down_since_ms_ >= away_after_ms_) ||
      now - last_commit_ms_ >= kHeartbeatLateMs) {
    away_ = true;
  }
  return away_;
}

void Sidecar::OnHeartbeatDue() {
  Beat();
  push_.Watch();
}

void Sidecar::OnUp() {
  down_since_ms_.reset();
  Beat();
  pop_.OnUp();
}

// A small write of our own: what it proves is that transactions commit. It also tells which
// database the connection leads to.
void Sidecar::Beat() {
  if (beating_) return;
  beating_ = true;
  pg::Params params(1);
  params.Int8(broker_);
  lookups_.Ask(storage::kHeartbeat, std::move(params), [this](const pg::BatchResult& result) {
    beating_ = false;
    if (!result.ok()) return;
    last_beat_ms_ = loop_.NowMillis();
    last_commit_ms_ = last_beat_ms_;
    away_ = false;
    const pg::Rows& rows = result.rows[0];
    if (buffer_ != nullptr && !rows.IsNull(0, 0)) buffer_->Meet(rows.Text(0, 0));
  });
}

// The database behind the connection may have gone back in time (a failover), so nothing that is
// only remembered is trusted any more.
void Sidecar::OnDown() {
  if (!scheduler_.AnyUp()) {
    last_beat_ms_ = 0;
    if (!down_since_ms_) down_since_ms_ = loop_.NowMillis();
    renew_.Refuse(Status(Code::kDatabaseUnavailable));
    lookups_.Refuse(Status(Code::kDatabaseUnavailable));
    names_.Refuse(Status(Code::kDatabaseUnavailable));
    fills_.Refuse(Status(Code::kDatabaseUnavailable));
  }
  generation_.Advance();
  cache_.Clear();
  delivered_.Clear();
  push_.Forget();
  pop_.Forget();
  ack_.Forget();
}

}  // namespace queen::sidecar
