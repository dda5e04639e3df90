#include "loop/timer.h"

#include <algorithm>

namespace queen {

struct Timer::State {
  uv_timer_t handle{};
  Loop* loop = nullptr;
  // Shared so that a callback that destroys its timer outlives its own call.
  std::shared_ptr<Callback> callback;
};

Timer::Timer(Loop& loop, Callback callback) : state_(new State) {
  loop.AssertOwner();
  uv_timer_init(loop.uv(), &state_->handle);
  state_->handle.data = state_;
  state_->loop = &loop;
  state_->callback = std::make_shared<Callback>(std::move(callback));
}

Timer::~Timer() {
  state_->loop->AssertOwner();
  state_->callback.reset();
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
           [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
}

void Timer::Start(int64_t delay_ms, int64_t repeat_ms) {
  state_->loop->AssertOwner();
  uv_timer_start(
      &state_->handle,
      [](uv_timer_t* handle) {
        const auto callback = static_cast<State*>(handle->data)->callback;
        (*callback)();
      },
      static_cast<uint64_t>(std::max<int64_t>(delay_ms, 0)),
      static_cast<uint64_t>(std::max<int64_t>(repeat_ms, 0)));
}

void Timer::Stop() {
  state_->loop->AssertOwner();
  uv_timer_stop(&state_->handle);
}

bool Timer::IsActive() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&state_->handle)) != 0;
}

}  // namespace queen
