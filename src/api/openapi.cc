#include "api/openapi.h"

#include <string>
#include <utility>

#include "http/response.h"

namespace queen::api {

void HandleOpenApi(http::Reply reply) {
  reply.SendPage(http::Response::Json(200, std::string(OpenApiDocument())));
}

}  // namespace queen::api
