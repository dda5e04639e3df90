// The audit trail, as the API fills and shows it: routes that change or delete what operators look
// after leave an entry when they are answered, with the status of the reply. Messages' own verbs
// (push, pop, ack, transactions, streams, leases, traces) leave none. Entries about tokens are
// written by the database, where they are changed.
#pragma once

#include <string_view>

#include "api/context.h"
#include "auth/access.h"
#include "http/method.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/router.h"

namespace queen::api {

// What a request to this route does, such as "queue.delete"; "" where it leaves no entry. A route
// that nobody named here and only administrators may use has its method and path instead.
std::string_view AuditedAction(http::Method method, std::string_view pattern,
                               const auth::Access& access);

// `handler` of that route, whose requests leave an entry with the queue that they name. `action`
// outlives it.
http::Handler Audited(const Context& context, http::Method method, std::string_view pattern,
                      std::string_view action, http::Handler handler);

// GET /api/v1/audit
void HandleListAudit(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
