#include "simulator/timeline.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/random.h"
#include "loop/end_of_turn.h"
#include "loop/timer.h"

namespace queen {
namespace simulator {
namespace {

constexpr int64_t kNever = INT64_MAX;
// A thread hears of what was posted to it within so many microseconds.
constexpr uint64_t kWakeMicrosMax = 32;

Scheduler* g_time = nullptr;
std::mt19937_64 g_random;  // NOLINT(cert-msc51-cpp,cert-msc32-c): seeded by each Timeline
int64_t g_wall_offset = 0;
int64_t g_turns = 0;

int64_t VirtualMicros() { return g_time == nullptr ? 0 : g_time->NowMicros(); }

}  // namespace

class Armed {
 public:
  virtual void Fire() = 0;

 protected:
  ~Armed() = default;
};

// What a Loop has in the place of libuv; its uv_loop_t's `data` leads here.
struct LoopState {
  struct Due {
    int64_t at_ms;
    uint64_t order;
    Armed* timer;
    bool operator<(const Due& other) const {
      return at_ms != other.at_ms ? at_ms < other.at_ms : order < other.order;
    }
  };

  Loop* loop = nullptr;
  std::set<Due> due;
  uint64_t timers_started = 0;
  std::vector<Armed*> ends;        // asked for at the end of this turn
  UniqueFunction<void()> at_once;  // of RunOn
  int64_t next_turn = kNever;      // of the turns scheduled, the one that counts
  int64_t stalled_until = 0;
  int64_t wall_offset = 0;
  bool killed = false;

  static std::shared_ptr<LoopState>& Of(Loop& loop) {
    return *static_cast<std::shared_ptr<LoopState>*>(loop.uv()->data);
  }

  void TurnAt(int64_t micros) {
    if (killed) return;
    micros = std::max({micros, stalled_until, VirtualMicros()});
    if (micros >= next_turn) return;
    next_turn = micros;
    g_time->After(micros - VirtualMicros(), [self = Of(*loop), micros] {
      if (self->killed || self->next_turn != micros) return;
      self->next_turn = kNever;
      self->loop->Run();
    });
  }
};

Timeline::Timeline(Scheduler& time, uint64_t seed) {
  assert(g_time == nullptr);
  g_time = &time;
  g_random.seed(seed);
  g_turns = 0;
}

Timeline::~Timeline() { g_time = nullptr; }

void Timeline::RunOn(Loop& loop, UniqueFunction<void()> task) {
  LoopState::Of(loop)->at_once = std::move(task);
  loop.Run();
}

void Timeline::Stall(Loop& loop, int64_t micros) {
  LoopState& state = *LoopState::Of(loop);
  state.stalled_until = std::max(state.stalled_until, VirtualMicros() + micros);
  if (state.next_turn == kNever) return;
  state.next_turn = kNever;
  state.TurnAt(state.stalled_until);
}

void Timeline::Kill(Loop& loop) { LoopState::Of(loop)->killed = true; }

void Timeline::SetWallOffset(Loop& loop, int64_t micros) {
  LoopState::Of(loop)->wall_offset = micros;
}

int64_t Timeline::turns() { return g_turns; }

}  // namespace simulator

using simulator::g_time;
using simulator::LoopState;
using simulator::VirtualMicros;

// ---- loops

Loop::Loop(std::string name) : name_(std::move(name)) {
  auto state = std::make_shared<LoopState>();
  state->loop = this;
  loop_.time = static_cast<uint64_t>(VirtualMicros() / 1000);
  loop_.data = new std::shared_ptr<LoopState>(std::move(state));
}

Loop::~Loop() {
  LoopState::Of(*this)->killed = true;
  delete static_cast<std::shared_ptr<LoopState>*>(loop_.data);
}

void Loop::Stop() { simulator::Timeline::Kill(*this); }

void Loop::Post(Task task) {
  LoopState& state = *LoopState::Of(*this);
  if (state.killed) return;
  posted_.push_back(std::move(task));
  const auto delay = static_cast<int64_t>(simulator::g_random() % simulator::kWakeMicrosMax);
  state.TurnAt(VirtualMicros() + delay);
}

// One turn, or the task of RunOn.
void Loop::Run() {
  assert(owner_.load() == std::thread::id());
  const std::shared_ptr<LoopState> state = LoopState::Of(*this);
  ++simulator::g_turns;
  loop_.time = static_cast<uint64_t>(VirtualMicros() / 1000);
  owner_ = std::this_thread::get_id();
  simulator::g_wall_offset = state->wall_offset;
  if (state->at_once) {
    std::exchange(state->at_once, nullptr)();
  } else {
    RunPosted();
  }
  owner_ = std::thread::id();
  simulator::g_wall_offset = 0;
  if (!posted_.empty() || !state->ends.empty()) state->TurnAt(VirtualMicros() + 1);
  if (!state->due.empty()) state->TurnAt(state->due.begin()->at_ms * 1000);
}

void Loop::RunPosted() {
  LoopState& state = *LoopState::Of(*this);
  while (!state.due.empty() && state.due.begin()->at_ms <= NowMillis()) {
    simulator::Armed* const timer = state.due.begin()->timer;
    state.due.erase(state.due.begin());
    timer->Fire();
  }
  std::vector<Task> tasks;
  tasks.swap(posted_);
  for (Task& task : tasks) {
    task();
    task = nullptr;
  }
  for (simulator::Armed* const end : std::exchange(state.ends, {})) end->Fire();
}

// ---- timers

struct Timer::State final : simulator::Armed {
  Loop* loop = nullptr;
  std::shared_ptr<Callback> callback;  // shared: it may destroy its timer
  LoopState::Due due{};
  int64_t repeat_ms = 0;
  bool active = false;

  void Arm(int64_t delay_ms) {
    LoopState& state = *LoopState::Of(*loop);
    active = true;
    due = {loop->NowMillis() + delay_ms, ++state.timers_started, this};
    state.due.insert(due);
    state.TurnAt(due.at_ms * 1000);
  }
  void Disarm() {
    if (active) LoopState::Of(*loop)->due.erase(due);
    active = false;
  }
  void Fire() override {
    active = false;
    if (repeat_ms > 0) Arm(repeat_ms);
    const auto kept = callback;
    (*kept)();
  }
};

Timer::Timer(Loop& loop, Callback callback) : state_(new State) {
  state_->loop = &loop;
  state_->callback = std::make_shared<Callback>(std::move(callback));
}

Timer::~Timer() {
  state_->Disarm();
  delete state_;
}

void Timer::Start(int64_t delay_ms, int64_t repeat_ms) {
  state_->loop->AssertOwner();
  state_->Disarm();
  state_->repeat_ms = std::max<int64_t>(repeat_ms, 0);
  state_->Arm(std::max<int64_t>(delay_ms, 0));
}

void Timer::Stop() {
  state_->loop->AssertOwner();
  state_->Disarm();
}

bool Timer::IsActive() const { return state_->active; }

// ---- ends of turns

struct EndOfTurn::State final : simulator::Armed {
  Loop* loop = nullptr;
  Callback callback;
  bool requested = false;

  void Fire() override {
    requested = false;
    callback();
  }
};

EndOfTurn::EndOfTurn(Loop& loop, Callback callback) : state_(new State) {
  state_->loop = &loop;
  state_->callback = std::move(callback);
}

// REQUIRES, here: not inside its own callback
EndOfTurn::~EndOfTurn() {
  std::erase(LoopState::Of(*state_->loop)->ends, state_);
  delete state_;
}

void EndOfTurn::Request() {
  state_->loop->AssertOwner();
  if (std::exchange(state_->requested, true)) return;
  LoopState& state = *LoopState::Of(*state_->loop);
  state.ends.push_back(state_);
}

// ---- clocks and randomness

int64_t SteadyMicros() { return VirtualMicros(); }
int64_t SteadyMillis() { return VirtualMicros() / 1000; }
int64_t WallMicros() { return VirtualMicros() + simulator::g_wall_offset; }

void SecureRandomBytes(void* out, size_t size) {
  auto* const bytes = static_cast<unsigned char*>(out);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(simulator::g_random());
}

std::mt19937_64& ThreadRandom() { return simulator::g_random; }

int64_t RandomBetween(std::mt19937_64& random, int64_t low, int64_t high) {
  assert(low <= high);
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

}  // namespace queen
