// The columns of queen.progress as load_lanes and append_lanes answer them, from epoch to
// window_end.
#pragma once

#include "engine/lane.h"
#include "pg/rows.h"

namespace queen::storage {

inline constexpr int kProgressColumns = 14;

// REQUIRES: the columns are there from `first` on, and epoch is not null
engine::Progress ReadProgress(const pg::Rows& rows, int row, int first);

}  // namespace queen::storage
