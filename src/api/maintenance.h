// GET and POST /api/v1/system/maintenance (pushes) and /api/v1/system/maintenance/pop (pops).
//
//   POST {"enabled": true|false}     anything else is refused (400)
//
// All four answer the same: the flags as this broker acts by them, and the state of its own file
// buffer. GET asks nobody. A switch is recorded in the database for every broker, so POST is a 503
// while that is away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

struct MaintenanceStatus {
  bool push_paused = false;
  bool pop_paused = false;
  int64_t buffered_messages = 0;  // in the file buffer of this broker
  bool buffer_healthy = false;    // it can be written; false where it is turned off
  int64_t failed_messages = 0;    // set aside since the start, see docs/file-buffer.md
  int64_t failed_files = 0;
  int64_t failed_bytes = 0;  // of those files
  bool database_up = false;
};

void HandleMaintenance(const Context& context, const http::Request& request, http::Reply reply);
void HandleSetPushMaintenance(const Context& context, const http::Request& request,
                              http::Reply reply);
void HandleSetPopMaintenance(const Context& context, const http::Request& request,
                             http::Reply reply);

// `enabled` of the body.
Result<bool> ParseMaintenance(std::string_view body);

// "failedFiles":{...}
void WriteFailedFiles(JsonWriter& writer, const MaintenanceStatus& status);
std::string WriteMaintenance(const MaintenanceStatus& status);

}  // namespace queen::api
