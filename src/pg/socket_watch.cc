#include "pg/socket_watch.h"

#include <memory>

namespace queen::pg {

struct SocketWatch::State {
  uv_poll_t handle{};
  Loop* loop = nullptr;
  int wanted = 0;
  // Shared so that a callback that destroys its watch outlives its own call.
  std::shared_ptr<Callback> callback;
};

SocketWatch::SocketWatch(Loop& loop, int socket, Callback callback) : state_(new State) {
  loop.AssertOwner();
  [[maybe_unused]] const int made = uv_poll_init_socket(loop.uv(), &state_->handle, socket);
  assert(made == 0);
  state_->handle.data = state_;
  state_->loop = &loop;
  state_->callback = std::make_shared<Callback>(std::move(callback));
}

SocketWatch::~SocketWatch() {
  state_->loop->AssertOwner();
  state_->callback.reset();
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
           [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
}

void SocketWatch::Want(int events) {
  if (events == state_->wanted) return;
  state_->wanted = events;
  if (events == 0) {
    uv_poll_stop(&state_->handle);
    return;
  }
  uv_poll_start(&state_->handle, events, [](uv_poll_t* handle, int status, int ready) {
    auto* state = static_cast<State*>(handle->data);
    // libuv stops watching a socket that failed; the next Want starts again.
    if (status < 0) state->wanted = 0;
    const auto callback = state->callback;
    if (callback) (*callback)(status < 0 ? UV_READABLE | UV_WRITABLE : ready);
  });
}

}  // namespace queen::pg
