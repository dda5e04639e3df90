#include "simulator/virtual_slots.h"

#include <algorithm>
#include <cassert>

namespace queen::simulator {

VirtualSlots::VirtualSlots(Loop& loop, Scheduler& time, Database& database, std::mt19937_64& random,
                           int count)
    : loop_(loop),
      time_(time),
      database_(database),
      random_(random),
      link_(std::make_shared<Link>(Link{this})),
      slots_(static_cast<size_t>(count)) {}

VirtualSlots::~VirtualSlots() {
  link_->slots = nullptr;
  for (Slot& slot : slots_) {
    if (database_.IsOpen(slot.session)) database_.Lose(slot.session);
  }
}

void VirtualSlots::Later(int64_t micros, UniqueFunction<void(VirtualSlots&)> task) {
  time_.After(micros, [link = link_, task = std::move(task)]() mutable {
    if (link->slots != nullptr) task(*link->slots);
  });
}

void VirtualSlots::OnLoop(UniqueFunction<void(VirtualSlots&)> task) {
  loop_.Post([link = link_, task = std::move(task)]() mutable {
    if (link->slots != nullptr) task(*link->slots);
  });
}

void VirtualSlots::Start(Events events) {
  loop_.AssertOwner();
  events_ = std::move(events);
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
    ConnectSoon(slot, static_cast<int64_t>(random_() % kConnectMicrosMax));
  }
}

void VirtualSlots::ConnectSoon(int slot, int64_t micros) {
  Later(micros, [slot](VirtualSlots& self) { self.Connect(slot); });
}

void VirtualSlots::Connect(int slot) {
  Slot& at = At(slot);
  if (closing_ || at.state != State::kDown) return;
  const uint64_t connection = ++connections_made_;
  Database::SessionOptions options;
  options.lock_timeout_micros = 1'000'000;
  options.on_lost = [link = link_, slot, connection] {
    if (link->slots == nullptr) return;
    link->slots->OnLoop([slot, connection](VirtualSlots& self) { self.OnLost(slot, connection); });
  };
  const std::optional<Database::SessionId> session = database_.Open(std::move(options));
  if (!session) {
    at.pause_micros = std::min(at.pause_micros * 2, kPauseMicrosMax);
    ConnectSoon(slot, at.pause_micros);
    return;
  }
  at.session = *session;
  at.connection = connection;
  at.muted = false;
  OnLoop([slot, connection](VirtualSlots& self) {
    if (self.At(slot).connection == connection) self.OnUp(slot);
  });
}

void VirtualSlots::OnUp(int slot) {
  Slot& at = At(slot);
  if (closing_ || at.state != State::kDown || at.session == 0) return;
  at.state = State::kIdle;
  at.pause_micros = 1'000;
  const bool whole = std::all_of(slots_.begin(), slots_.end(),
                                 [](const Slot& s) { return s.state != State::kDown; });
  if (whole) whole_since_ = time_.NowMicros();
  if (events_.on_up) events_.on_up(slot);
  if (events_.on_free && At(slot).state == State::kIdle) events_.on_free(slot);
}

int VirtualSlots::FindFree() const {
  loop_.AssertOwner();
  if (closing_) return kNone;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].state == State::kIdle) return static_cast<int>(slot);
  }
  return kNone;
}

pg::Storage::Counts VirtualSlots::counts() const {
  Counts counts{.total = static_cast<int>(slots_.size())};
  for (const Slot& slot : slots_) {
    counts.up += slot.state == State::kIdle || slot.state == State::kBusy ? 1 : 0;
    counts.busy += slot.state == State::kBusy ? 1 : 0;
    counts.free += !closing_ && slot.state == State::kIdle ? 1 : 0;
  }
  return counts;
}

void VirtualSlots::Refuse(pg::BatchCallback callback, Code code) {
  loop_.Post(
      [callback = std::move(callback), code]() mutable { callback(pg::NotSent(Status(code))); });
}

void VirtualSlots::Execute(pg::Batch batch, pg::BatchCallback callback) {
  const int slot = FindFree();
  if (slot == kNone) {
    const bool up = counts().up > 0;
    return Refuse(std::move(callback), closing_ ? Code::kShuttingDown
                                       : up     ? Code::kOverloaded
                                                : Code::kDatabaseUnavailable);
  }
  Slot& at = At(slot);
  at.state = State::kBusy;
  at.callback = std::move(callback);
  const uint64_t connection = at.connection;
  if (at.muted || !database_.IsOpen(at.session)) return;  // into nothing; it is heard of soon
  database_.Execute(at.session, std::move(batch),
                    [link = link_, slot, connection](pg::BatchResult result) mutable {
                      if (link->slots == nullptr) return;
                      link->slots->OnLoop([slot, connection,
                                           result = std::move(result)](VirtualSlots& self) mutable {
                        self.OnAnswer(slot, connection, std::move(result));
                      });
                    });
}

void VirtualSlots::OnAnswer(int slot, uint64_t connection, pg::BatchResult result) {
  Slot& at = At(slot);
  if (at.connection != connection || at.state != State::kBusy || at.muted) return;
  at.state = State::kIdle;
  std::exchange(at.callback, nullptr)(std::move(result));
  if (closing_) return CloseIfDrained();
  if (events_.on_free && At(slot).state == State::kIdle) events_.on_free(slot);
}

void VirtualSlots::OnLost(int slot, uint64_t connection) {
  Slot& at = At(slot);
  if (at.connection != connection || at.state == State::kClosed) return;
  const bool was_up = at.state != State::kDown;
  whole_since_ = INT64_MAX;
  at.state = State::kDown;
  at.session = 0;
  at.connection = 0;
  pg::BatchCallback callback = std::exchange(at.callback, nullptr);
  ConnectSoon(slot, 1'000 + static_cast<int64_t>(random_() % kConnectMicrosMax));
  if (was_up && events_.on_down) events_.on_down(slot, Status(Code::kDatabaseUnavailable));
  if (callback) {
    pg::BatchResult unknown;
    unknown.outcome = pg::Outcome::kUnknown;
    unknown.sent = true;
    unknown.status = Status(Code::kOutcomeUnknown);
    callback(std::move(unknown));
  }
  if (closing_) CloseIfDrained();
}

VirtualSlots::Slot* VirtualSlots::Choose(uint64_t choice) {
  Slot& slot = slots_[choice % slots_.size()];
  const bool up = slot.state == State::kIdle || slot.state == State::kBusy;
  return up && !slot.muted && database_.IsOpen(slot.session) ? &slot : nullptr;
}

void VirtualSlots::Cut(uint64_t choice) {
  Slot* const slot = Choose(choice);
  if (slot == nullptr) return;
  database_.Lose(slot->session);
  OnLoop([place = static_cast<int>(slot - slots_.data()),
          connection = slot->connection](VirtualSlots& self) { self.OnLost(place, connection); });
}

void VirtualSlots::Mute(uint64_t choice) {
  Slot* const slot = Choose(choice);
  if (slot == nullptr) return;
  database_.Lose(slot->session);
  slot->muted = true;
  whole_since_ = INT64_MAX;
  Later(kSilenceMicros, [place = static_cast<int>(slot - slots_.data()),
                         connection = slot->connection](VirtualSlots& self) {
    self.OnLoop([place, connection](VirtualSlots& again) { again.OnLost(place, connection); });
  });
}

int64_t VirtualSlots::whole_since() const { return whole_since_; }

void VirtualSlots::Close(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  closing_ = true;
  closed_ = std::move(done);
  CloseIfDrained();
}

void VirtualSlots::CloseIfDrained() {
  for (Slot& slot : slots_) {
    if (slot.state == State::kBusy) continue;
    if (slot.session != 0 && database_.IsOpen(slot.session)) database_.Lose(slot.session);
    slot.state = State::kClosed;
    slot.session = 0;
  }
  const bool drained = std::all_of(slots_.begin(), slots_.end(),
                                   [](const Slot& slot) { return slot.state == State::kClosed; });
  if (drained && closed_) loop_.Post(std::exchange(closed_, nullptr));
}

}  // namespace queen::simulator
