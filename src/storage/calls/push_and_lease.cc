#include "storage/calls/push_and_lease.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "storage/calls/columns.h"
#include "storage/calls/progress_columns.h"

namespace queen::storage::push_and_lease {
namespace {

namespace oid = pg::oid;

constexpr const char* kName = "push_and_lease";

constexpr std::array<Column, 5> kPushColumns{{{"ordinal", oid::kInt4},
                                              {"status", oid::kText},
                                              {"base_seq", oid::kInt8},
                                              {"created_at", oid::kTimestampTz},
                                              {"line", oid::kInt4}}};
constexpr std::array<Column, 1> kClockColumns{{{"now", oid::kTimestampTz}}};
enum Place {
  kOrdinal,
  kStatus,
  kFirstOfProgress = static_cast<int>(kPushColumns.size()),
  kNow = kFirstOfProgress + static_cast<int>(kProgressColumns.size()),
};

// Which lanes, and what is compared.
void AddConditions(const std::vector<Lease>& leases, pg::Params& params) {
  const size_t count = leases.size();
  pg::Int4Array partitions(count);
  pg::Int4Array groups(count);
  pg::Int4Array queues(count);
  pg::Int8Array versions(count);
  pg::Int8Array prev_epochs(count);
  pg::Int8Array prev_stamps(count);
  SparseArray<pg::TimestampTzArray> not_befores(count);
  pg::Int8Array log_ends(count);
  pg::Int4Array firsts(count);
  for (const Lease& lease : leases) {
    const engine::LaneAppend& append = lease.append;
    partitions.Add(append.key.partition.value);
    groups.Add(append.key.group.value);
    queues.Add(append.queue.value);
    versions.Add(append.version);
    prev_epochs.Add(append.prev_epoch);
    prev_stamps.Add(append.prev_stamp);
    not_befores.AddOrNull(append.not_before_micros);
    log_ends.Add(append.log_end.value_or(-1));
    firsts.Add(lease.first_segment + 1);
  }
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(queues));
  params.Add(std::move(versions)).Add(std::move(prev_epochs)).Add(std::move(prev_stamps));
  std::move(not_befores).MoveTo(params);
  params.Add(std::move(log_ends)).Add(std::move(firsts));
}

void AddRows(const std::vector<Lease>& leases, pg::Params& params) {
  const size_t count = leases.size();
  pg::Int8Array stamps(count);
  pg::Int8Array cursors(count);
  pg::UuidArray ids(count);
  pg::Int8Array milliseconds(count);
  pg::Int8Array ends(count);
  pg::Int4Array seconds(count);
  pg::Int4Array deliveries(count);
  for (const Lease& lease : leases) {
    const engine::Progress& next = lease.append.next;
    stamps.Add(next.stamp);
    cursors.Add(next.cursor);
    ids.Add(next.lease->id);
    milliseconds.Add(lease.append.lease_ms.value_or(0));
    ends.Add(next.lease->end);
    seconds.Add(next.lease->seconds);
    deliveries.Add(next.deliveries);
  }
  params.Add(std::move(stamps)).Add(std::move(cursors)).Add(std::move(ids));
  params.Add(std::move(milliseconds)).Add(std::move(ends)).Add(std::move(seconds));
  params.Add(std::move(deliveries));
}

}  // namespace

const pg::Statement kStatement{
    kName,
    "SELECT * FROM queen.push_and_lease($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
    " $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31,"
    " $32, $33)",
    {oid::kInt8, oid::kInt8, oid::kBool,
     // segments
     oid::kInt4Array, oid::kInt4Array, oid::kTextArray, oid::kTextArray, oid::kTextArray,
     oid::kTextArray, oid::kTextArray, oid::kTimestampTzArray, oid::kTimestampTzArray,
     oid::kBoolArray, oid::kInt8Array, oid::kInt8Array, oid::kBoolArray, oid::kBool,
     // lanes and conditions
     oid::kInt4Array, oid::kInt4Array, oid::kInt4Array, oid::kInt8Array, oid::kInt8Array,
     oid::kInt8Array, oid::kTimestampTzArray, oid::kInt8Array, oid::kInt4Array,
     // leases
     oid::kInt8Array, oid::kInt8Array, oid::kUuidArray, oid::kInt8Array, oid::kInt8Array,
     oid::kInt4Array, oid::kInt4Array}};

void AddLeases(const std::vector<Lease>& leases, pg::Params& params) {
  AddConditions(leases, params);
  AddRows(leases, params);
}

Result<Answer> Decode(const pg::Rows& rows) {
  QUEEN_RETURN_IF_ERROR(CheckColumns(kName, rows, {kPushColumns, kProgressColumns, kClockColumns}));
  Answer answer;
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(row, kNow)) {
      ++answer.pushed;
      continue;
    }
    append_lanes::Row lease;
    lease.index = static_cast<size_t>(rows.Int4(row, kOrdinal) - 1);
    const auto state = append_lanes::StateNamed(rows.Text(row, kStatus));
    if (!state) {
      return Status(Code::kInternal, fmt::format("{} answered the unknown state {}", kName,
                                                 rows.Text(row, kStatus)));
    }
    lease.state = *state;
    if (!rows.IsNull(row, kFirstOfProgress)) {
      lease.newest = ReadProgress(rows, row, kFirstOfProgress);
    }
    lease.now_micros = rows.TimestampTz(row, kNow);
    answer.leases.push_back(std::move(lease));
  }
  return answer;
}

}  // namespace queen::storage::push_and_lease
