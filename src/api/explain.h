// GET /api/v1/resources/queues/:queue/partitions/:partition/explain?consumerGroup=: why is nothing
// delivered here? The database says what holds up the lane (sql/procedures/report_lane.sql), and
// this broker adds what its own ring believes of it.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/unique_function.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

struct LaneQuestion {
  std::string queue;
  std::string group;
  std::optional<PartitionId> partition;
};
// Takes a JSON object.
using LaneDone = UniqueFunction<void(std::string)>;

void HandleExplainLane(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
