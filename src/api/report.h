// Endpoints whose whole reply is a document that SQL writes (storage/reports.h): here only the
// parameters are read and checked.
#pragma once

#include <functional>
#include <string>

#include "api/context.h"
#include "api/queue_filter.h"
#include "http/reply.h"
#include "pg/params.h"
#include "pg/statement.h"

namespace queen::api {

// Makes another document of one.
using Edit = std::function<std::string(std::string)>;

// 200 with the document, 404 with `missing` where there is none, or the error.
void SendReport(const Context& context, const pg::Statement& statement, pg::Params params,
                http::Reply reply, std::string missing = "Not found", Edit edit = {});

// The same for a list of what belongs to queues: a limited token gets only what it may see.
void SendListReport(const Context& context, const auth::Identity& who, const QueueList& where,
                    const pg::Statement& statement, pg::Params params, http::Reply reply,
                    std::string missing = "Not found");

}  // namespace queen::api
