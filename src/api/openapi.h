// GET /openapi.json: the description of this API, docs/openapi.json as it was when the binary was
// built. openapi/ is where it is written.
#pragma once

#include <string_view>

#include "http/reply.h"

namespace queen::api {

// cmake/openapi.cmake writes the definition.
std::string_view OpenApiDocument();

void HandleOpenApi(http::Reply reply);

}  // namespace queen::api
