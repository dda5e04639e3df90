#include "pg/slots.h"

namespace queen::pg {

Slots::Slots(Loop& loop, const ConnectOptions& options, int count, int pipeline_depth)
    : loop_(loop),
      log_(options.log ? options.log : std::make_shared<ConnectionLog>(options.Describe())),
      others_(loop, [this] { StartOthers(); }) {
  loop_.AssertOwner();
  assert(count > 0);
  assert(options.Validate().ok());
  log_->Expect(count);
  Connection::Listener& listener = *this;
  for (int i = 0; i < count; ++i) {
    connections_.push_back(std::make_unique<Connection>(loop, options, pipeline_depth, listener));
  }
}

Slots::~Slots() {
  loop_.AssertOwner();
  closing_ = true;
  others_.Stop();
  events_ = {};
  for (auto& connection : connections_) connection->Close();
}

void Slots::Start(Events events) {
  loop_.AssertOwner();
  events_ = std::move(events);
  connections_[0]->Start();
}

void Slots::StartOthers() {
  if (closing_) return;
  for (size_t i = 1; i < connections_.size(); ++i) connections_[i]->Start();
}

int Slots::SlotOf(const Connection& connection) const {
  int slot = 0;
  while (connections_[static_cast<size_t>(slot)].get() != &connection) ++slot;
  return slot;
}

int Slots::FindFree() const {
  loop_.AssertOwner();
  int best = kNone;
  int best_load = 0;
  for (int slot = 0; slot < static_cast<int>(connections_.size()); ++slot) {
    if (!IsFree(slot)) continue;
    const int load = connection(slot).load();
    if (best != kNone && load >= best_load) continue;
    best = slot;
    best_load = load;
    if (load == 0) break;
  }
  return best;
}

bool Slots::IsFree(int slot) const { return !closing_ && connection(slot).IsFree(); }

Slots::Counts Slots::counts() const {
  Counts counts{.total = static_cast<int>(connections_.size())};
  for (const auto& connection : connections_) {
    counts.up += connection->IsUp() ? 1 : 0;
    counts.busy += connection->state() == Connection::State::kBusy ? 1 : 0;
    counts.free += !closing_ && connection->IsFree() ? 1 : 0;
  }
  return counts;
}

void Slots::Answer(BatchCallback callback, Status status) {
  loop_.Post([callback = std::move(callback), result = NotSent(std::move(status))]() mutable {
    callback(std::move(result));
  });
}

void Slots::Execute(Batch batch, BatchCallback callback) {
  const int slot = FindFree();
  if (slot != kNone) return ExecuteOn(slot, std::move(batch), std::move(callback));
  if (closing_) return Answer(std::move(callback), Status(Code::kShuttingDown));
  if (counts().up > 0) return Answer(std::move(callback), Status(Code::kOverloaded));
  const Status& why = last_failure_.status;
  Answer(std::move(callback), Status(Code::kDatabaseUnavailable, why.message()));
}

void Slots::ExecuteOn(int slot, Batch batch, BatchCallback callback) {
  loop_.AssertOwner();
  Connection& connection = *connections_[static_cast<size_t>(slot)];
  if (closing_) return Answer(std::move(callback), Status(Code::kShuttingDown));
  if (!connection.IsUp()) return Answer(std::move(callback), Status(Code::kDatabaseUnavailable));
  if (!connection.IsFree()) return Answer(std::move(callback), Status(Code::kOverloaded));
  if (batch.bytes() > Batch::kBytesMax) {
    return Answer(std::move(callback), Status(Code::kPayloadTooLarge));
  }
  connection.Execute(std::move(batch), std::move(callback));
}

void Slots::Close(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  assert(!closing_);
  closing_ = true;
  closed_ = std::move(done);
  for (auto& connection : connections_) CloseIfDrained(*connection);
}

void Slots::CloseIfDrained(Connection& connection) {
  if (connection.load() > 0) return;
  connection.Close();
  if (!closed_) return;
  for (const auto& other : connections_) {
    if (other->state() != Connection::State::kClosed) return;
  }
  loop_.Post(std::exchange(closed_, nullptr));
}

void Slots::OnUp(Connection& connection) {
  last_failure_ = {};
  log_->OnUp(connection.server_version());
  if (!std::exchange(first_was_up_, true)) others_.Start(kOthersAfterMs);
  const int slot = SlotOf(connection);
  if (events_.on_up) events_.on_up(slot);
  if (events_.on_free && IsFree(slot)) events_.on_free(slot);
}

void Slots::OnDown(Connection& connection, const Status& reason) {
  if (!closing_) log_->OnDown(reason.message());
  if (events_.on_down) events_.on_down(SlotOf(connection), reason);
  if (closing_) CloseIfDrained(connection);
}

void Slots::OnConnectFailed(Connection& connection, const ConnectFailure& failure) {
  last_failure_ = failure;
  log_->OnConnectFailed(failure, loop_.NowMillis());
  if (closing_) CloseIfDrained(connection);
}

void Slots::OnFree(Connection& connection) {
  if (closing_) return CloseIfDrained(connection);
  if (events_.on_free) events_.on_free(SlotOf(connection));
}

}  // namespace queen::pg
