// SocketWatch: a uv_poll_t on a socket that somebody else (libpq) owns. Destroying it takes the
// socket out of the loop's poller at once, which must happen before the socket is closed: the next
// one may get the same number. Its callback never runs after that, and may destroy the watch.
#pragma once

#include <uv.h>

#include "loop/loop.h"

namespace queen::pg {

class SocketWatch {
 public:
  // `events` is a set of UV_READABLE and UV_WRITABLE; both when the socket has failed, so that
  // trying to use it tells the reason.
  using Callback = UniqueFunction<void(int events)>;

  // Watches nothing until Want.
  SocketWatch(Loop& loop, int socket, Callback callback);
  ~SocketWatch();
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  // From now on waits for exactly these events, level-triggered. Cheap when nothing changes.
  void Want(int events);

 private:
  struct State;
  State* state_;  // freed by the close callback
};

}  // namespace queen::pg
