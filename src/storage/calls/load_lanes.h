// load: what queen.load_lanes tells of lanes.
#pragma once

#include <vector>

#include "engine/verbs.h"
#include "pg/batch.h"

namespace queen::storage {

pg::Batch LoadLanes(const std::vector<engine::LaneAsk>& asks);
engine::LoadReply ReadLoadedLanes(const pg::Rows& rows, size_t asks);

}  // namespace queen::storage
