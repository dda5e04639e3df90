#include "server/signals.h"

#include <csignal>

namespace queen::server {

struct Signals::State {
  std::array<uv_signal_t, 2> handles{};
  UniqueFunction<void(int)> on_signal;
  size_t open = 0;
};

Signals::Signals(Loop& loop, UniqueFunction<void(int number)> on_signal) : state_(new State) {
  loop.AssertOwner();
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  state_->on_signal = std::move(on_signal);
  constexpr std::array kNumbers = {SIGTERM, SIGINT};
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    uv_signal_init(loop.uv(), &state_->handles[i]);
    state_->handles[i].data = state_;
    uv_signal_start(
        &state_->handles[i],
        [](uv_signal_t* handle, int number) {
          static_cast<State*>(handle->data)->on_signal(number);
        },
        kNumbers[i]);
    ++state_->open;
  }
}

Signals::~Signals() {
  for (uv_signal_t& handle : state_->handles) {
    uv_close(reinterpret_cast<uv_handle_t*>(&handle), [](uv_handle_t* closed) {
      auto* state = static_cast<State*>(closed->data);
      if (--state->open == 0) delete state;
    });
  }
}

}  // namespace queen::server
