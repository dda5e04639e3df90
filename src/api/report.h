// Endpoints whose whole reply is a document that SQL writes (storage/reports.h): here only the
// parameters are read and checked.
#pragma once

#include <string>

#include "api/context.h"
#include "http/reply.h"
#include "pg/params.h"
#include "pg/statement.h"

namespace queen::api {

// 200 with the document, 404 with `missing` where there is none, or the error.
void SendReport(const Context& context, const pg::Statement& statement, pg::Params params,
                http::Reply reply, std::string missing = "Not found");

}  // namespace queen::api
