#include "api/late_reply.h"

#include <memory>
#include <utility>

#include "loop/timer.h"

namespace queen::api {
namespace {

// Owned by its timer's callback, and so by itself until the timer goes.
struct LateReply {
  http::Reply reply;
  http::Response response;
  std::unique_ptr<Timer> timer;
};

}  // namespace

void SendLater(Loop& loop, http::Reply reply, http::Response response, int64_t delay_ms) {
  auto late = std::make_shared<LateReply>();
  late->reply = std::move(reply);
  late->response = std::move(response);
  late->timer = std::make_unique<Timer>(loop, [late] {
    late->timer.reset();
    late->reply.Send(std::move(late->response));
  });
  late->timer->Start(delay_ms);
  late->reply.OnDisconnect([weak = std::weak_ptr(late)] {
    if (const auto gone = weak.lock()) gone->timer.reset();
  });
}

}  // namespace queen::api
