#include "server/signals.h"

#include <csignal>

namespace queen::server {
namespace {

constexpr std::array kNumbers = {SIGTERM, SIGINT};

void MaskSignals(int how) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kNumbers) sigaddset(&set, number);
  pthread_sigmask(how, &set, nullptr);
}

}  // namespace

void HoldSignals() { MaskSignals(SIG_BLOCK); }

struct Signals::State {
  std::array<uv_signal_t, kNumbers.size()> handles{};
  UniqueFunction<void(int)> on_signal;
  size_t open = 0;
};

Signals::Signals(Loop& loop, UniqueFunction<void(int number)> on_signal) : state_(new State) {
  loop.AssertOwner();
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  state_->on_signal = std::move(on_signal);
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
  MaskSignals(SIG_UNBLOCK);
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
