#include "loop/end_of_turn.h"

namespace queen {

// The check handle runs after the loop has polled; the idle handle keeps that poll from waiting.
struct EndOfTurn::State {
  uv_check_t check{};
  uv_idle_t idle{};
  Loop* loop = nullptr;
  Callback callback;
  bool requested = false;
  bool running = false;
  bool destroyed = false;
  int open_handles = 2;

  void Run() {
    uv_check_stop(&check);
    uv_idle_stop(&idle);
    requested = false;
    running = true;
    callback();
    running = false;
    if (destroyed) callback = nullptr;
  }

  static void OnClosed(uv_handle_t* handle) {
    auto* state = static_cast<State*>(handle->data);
    if (--state->open_handles == 0) delete state;
  }
};

EndOfTurn::EndOfTurn(Loop& loop, Callback callback) : state_(new State) {
  loop.AssertOwner();
  uv_check_init(loop.uv(), &state_->check);
  uv_idle_init(loop.uv(), &state_->idle);
  state_->check.data = state_;
  state_->idle.data = state_;
  state_->loop = &loop;
  state_->callback = std::move(callback);
}

EndOfTurn::~EndOfTurn() {
  state_->loop->AssertOwner();
  state_->destroyed = true;
  if (!state_->running) state_->callback = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->check), State::OnClosed);
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->idle), State::OnClosed);
}

void EndOfTurn::Request() {
  state_->loop->AssertOwner();
  if (state_->requested) return;
  state_->requested = true;
  uv_check_start(&state_->check,
                 [](uv_check_t* handle) { static_cast<State*>(handle->data)->Run(); });
  uv_idle_start(&state_->idle, [](uv_idle_t*) {});
}

}  // namespace queen
