// VirtualSlots: the connections of one worker to the simulated database, as pg::Slots keeps those
// to PostgreSQL: one batch in flight on each, reconnected for ever after growing pauses. Everything
// the worker hears comes in a turn of its loop.
//
// What may happen to a connection:
//   Cut    it breaks, and the worker hears of it at once. What it had sent may still be executed.
//   Mute   it breaks, and the worker hears nothing until its patience for an answer is over.
//   the server ends it (a crash); the worker hears of it soon.
// Destroying this without Close is the end of the process: no callback runs any more.
#pragma once

#include <random>
#include <vector>

#include "loop/loop.h"
#include "pg/storage.h"
#include "simulator/database/database.h"

namespace queen::simulator {

class VirtualSlots final : public pg::Storage {
 public:
  VirtualSlots(Loop& loop, Scheduler& time, Database& database, std::mt19937_64& random, int count);
  ~VirtualSlots() override;

  void Start(Events events) override;
  int FindFree() const override;
  void Execute(pg::Batch batch, pg::BatchCallback callback) override;
  void Close(UniqueFunction<void()> done) override;
  Counts counts() const override;

  // Of a connection that is up, whichever `choice` comes to; without effect where none is.
  void Cut(uint64_t choice);
  void Mute(uint64_t choice);

  // Since when the worker has had every connection, and has heard in time on each; INT64_MAX: it
  // has not.
  int64_t whole_since() const;

 private:
  // A worker gives a connection up after so long a silence.
  static constexpr int64_t kSilenceMicros = 3'000'000;
  static constexpr int64_t kConnectMicrosMax = 3'000;
  static constexpr int64_t kPauseMicrosMax = 1'000'000;

  enum class State { kDown, kIdle, kBusy, kClosed };
  struct Slot {
    State state = State::kDown;
    Database::SessionId session = 0;
    uint64_t connection = 0;  // its number, so that what is late is known to be of another
    pg::BatchCallback callback;
    int64_t pause_micros = 1'000;
    bool muted = false;
  };
  // What outlives this in events: whether it is still there.
  struct Link {
    VirtualSlots* slots;
  };

  void ConnectSoon(int slot, int64_t micros);
  void Connect(int slot);
  void OnUp(int slot);
  void OnAnswer(int slot, uint64_t connection, pg::BatchResult result);
  void OnLost(int slot, uint64_t connection);
  void Later(int64_t micros, UniqueFunction<void(VirtualSlots&)> task);
  void OnLoop(UniqueFunction<void(VirtualSlots&)> task);
  Slot* Choose(uint64_t choice);
  void CloseIfDrained();
  Slot& At(int slot) { return slots_[static_cast<size_t>(slot)]; }
  void Refuse(pg::BatchCallback callback, Code code);

  Loop& loop_;
  Scheduler& time_;
  Database& database_;
  std::mt19937_64& random_;
  const std::shared_ptr<Link> link_;
  std::vector<Slot> slots_;
  Events events_;
  bool closing_ = false;
  UniqueFunction<void()> closed_;
  uint64_t connections_made_ = 0;
  int64_t whole_since_ = INT64_MAX;
};

}  // namespace queen::simulator
