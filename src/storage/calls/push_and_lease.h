// push_and_lease: a push that carries leases on what it stores. sql/procedures/push_and_lease.sql
// has the contract. The parameters of the push stand first, as in push_messages.
#pragma once

#include <vector>

#include "engine/verbs.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"
#include "storage/calls/append_lanes.h"

namespace queen::storage::push_and_lease {

// A lease, and which of the segments is the first of its partition.
struct Lease {
  engine::LaneAppend append;  // log_end: where the log is to end before the segments
  int32_t first_segment = 0;  // 0 = first
};

extern const pg::Statement kStatement;

// `params` have those of the push. REQUIRES: the appends are leases on lanes that have nothing, so
// that the rows say of no message that it is settled or has failed
void AddLeases(const std::vector<Lease>& leases, pg::Params& params);

struct Answer {
  int pushed = 0;  // so many rows are those of push_messages, in its columns; then one per lease
  std::vector<append_lanes::Row> leases;
};
Result<Answer> Decode(const pg::Rows& rows);

}  // namespace queen::storage::push_and_lease
