// What PostgreSQL answers about lanes goes into the cache of lanes and sets the clock.
#pragma once

#include <vector>

#include "engine/database_clock.h"
#include "engine/lane_cache.h"
#include "pg/batch.h"
#include "storage/calls/append_lanes.h"
#include "storage/calls/load_lanes.h"

namespace queen::sidecar {

// The end of load number `load`, begun in `generation`, of `asks`: which of them are there; the
// others are gone. What is there is in the cache, unless a connection was lost meanwhile. Not ok:
// it told nothing.
Result<std::vector<bool>> TakeLoaded(engine::LaneCache& lanes, engine::DatabaseClock& clock,
                                     const std::vector<engine::LaneAsk>& asks, int64_t load,
                                     int64_t generation, const pg::BatchResult& result);

// The answer about one lane of an append that was decided in `generation`.
void TakeAppended(engine::LaneCache& lanes, engine::DatabaseClock& clock,
                  const engine::LaneKey& key, const storage::append_lanes::Row& appended,
                  int64_t generation);

}  // namespace queen::sidecar
