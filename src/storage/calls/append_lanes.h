// append_lanes: the next row of each lane, stored only if the row it was decided from is still the
// newest. sql/procedures/append_lanes.sql has the contract.
#pragma once

#include <optional>
#include <vector>

#include "engine/verbs.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"

namespace queen::storage::append_lanes {

using engine::AppendState;

struct Row {
  size_t index = 0;  // of the lane in the request
  AppendState state = AppendState::kBusy;
  std::optional<engine::Progress> newest;  // of the lane, as it is now
  int64_t now_micros = 0;                  // PostgreSQL's clock, the same in all rows of a call
};

// One call under two names, so that PostgreSQL shows which is which.
extern const pg::Statement kLeaseStatement;
extern const pg::Statement kAckStatement;
extern const pg::Statement kReturnStatement;

// nullopt: no state has this name.
std::optional<AppendState> StateNamed(std::string_view name);

pg::Params Encode(const engine::AppendRequest& request);
// A row for each lane of the request.
Result<std::vector<Row>> Decode(const pg::Rows& rows);

}  // namespace queen::storage::append_lanes
