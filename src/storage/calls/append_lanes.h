// append: queen.append_lanes stores the next states of lanes.
#pragma once

#include "engine/verbs.h"
#include "pg/batch.h"

namespace queen::storage {

pg::Batch AppendLanes(const engine::AppendRequest& request, int64_t broker);
engine::AppendReply ReadAppendedLanes(const pg::Rows& rows, size_t lanes);

}  // namespace queen::storage
