#include "sidecar/lane_answers.h"

#include <utility>

namespace queen::sidecar {
namespace {

Result<std::vector<bool>> PutLoaded(engine::LaneCache& lanes, engine::DatabaseClock& clock,
                                    const std::vector<engine::LaneAsk>& asks, int64_t load,
                                    int64_t generation, const pg::Rows& rows) {
  auto loaded = storage::load_lanes::Decode(rows);
  if (!loaded.ok()) return loaded.status();
  std::vector<bool> there(asks.size(), false);
  for (storage::load_lanes::Row& row : *loaded) {
    clock.Tell(row.now_micros);
    there[row.index] = true;
    const engine::LaneKey key = asks[row.index].key;
    lanes.Put(key, std::move(row), load, generation);
  }
  for (size_t i = 0; i < asks.size(); ++i) {
    if (!there[i]) lanes.Drop(asks[i].key);
  }
  return there;
}

}  // namespace

Result<std::vector<bool>> TakeLoaded(engine::LaneCache& lanes, engine::DatabaseClock& clock,
                                     const std::vector<engine::LaneAsk>& asks, int64_t load,
                                     int64_t generation, const pg::BatchResult& result) {
  Result<std::vector<bool>> there =
      result.ok() ? PutLoaded(lanes, clock, asks, load, generation, result.rows[0])
                  : Result<std::vector<bool>>(result.status);
  lanes.EndLoad();
  return there;
}

void TakeAppended(engine::LaneCache& lanes, engine::DatabaseClock& clock,
                  const engine::LaneKey& key, const storage::append_lanes::Row& appended,
                  int64_t generation) {
  using engine::AppendState;
  clock.Tell(appended.now_micros);
  const bool wrong = appended.state == AppendState::kGone ||
                     appended.state == AppendState::kStale ||
                     appended.state == AppendState::kMoved || !appended.newest;
  if (wrong) {
    lanes.Drop(key);
  } else {
    lanes.Update(key, *appended.newest, generation);
  }
}

}  // namespace queen::sidecar
