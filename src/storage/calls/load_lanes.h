// load_lanes: what has to be known of lanes to decide about them. sql/procedures/load_lanes.sql has
// the contract.
#pragma once

#include <vector>

#include "engine/verbs.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"

namespace queen::storage::load_lanes {

struct Row : engine::LoadedLane {
  size_t index = 0;        // of the lane in the request
  int64_t now_micros = 0;  // PostgreSQL's clock, the same in all rows of a call
};

extern const pg::Statement kStatement;

pg::Params Encode(const std::vector<engine::LaneAsk>& lanes);
// A row for each lane that is there; none where its partition, queue or group is gone.
Result<std::vector<Row>> Decode(const pg::Rows& rows);

}  // namespace queen::storage::load_lanes
