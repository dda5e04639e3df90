#include "api/shared_state.h"

#include <utility>

#include "api/context.h"

namespace queen::api {

void HandleSharedState(const Context& context, const http::Request& /*request*/,
                       http::Reply reply) {
  context.shared_state([reply = std::move(reply)](std::string json) mutable {
    reply.SendPage(http::Response::Json(200, std::move(json)));
  });
}

}  // namespace queen::api
