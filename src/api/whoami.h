// Who the caller is to this broker, and what he may do: so that pages and tools offer nothing that
// would be refused.
#pragma once

#include <string>

#include "api/context.h"
#include "auth/identity.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

// `asked`: callers need a token. Where they do not, everybody may do everything, whoever it is.
std::string WriteIdentity(const auth::Identity& who, bool asked);

// GET /api/v1/whoami
void HandleWhoAmI(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
