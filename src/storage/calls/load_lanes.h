// load_lanes: what has to be known of lanes to decide about them. sql/procedures/load_lanes.sql has
// the contract.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/lane.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"

namespace queen::storage::load_lanes {

struct Lane {
  PartitionId partition;
  GroupId group;
  int32_t messages = 0;  // so many that are not settled are wanted in the segments that are listed
};

struct Row {
  size_t index = 0;  // of the lane in the request
  engine::QueueRules rules;
  engine::Progress progress;
  engine::LogView log;
  std::string partition_name;
  int64_t now_micros = 0;  // PostgreSQL's clock, the same in all rows of a call
};

extern const pg::Statement kStatement;

pg::Params Encode(const std::vector<Lane>& lanes);
// A row for each lane that is there; none where its partition, queue or group is gone.
Result<std::vector<Row>> Decode(const pg::Rows& rows);

}  // namespace queen::storage::load_lanes
