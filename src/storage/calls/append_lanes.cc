#include "storage/calls/append_lanes.h"

#include <fmt/format.h>

#include <array>

#include "storage/calls/columns.h"
#include "storage/calls/progress_columns.h"

namespace queen::storage::append_lanes {
namespace {

namespace oid = pg::oid;
using engine::LaneAppend;

constexpr const char* kName = "append_lanes";

constexpr std::array<Column, 2> kStateColumns{{{"ordinal", oid::kInt4}, {"state", oid::kText}}};
constexpr std::array<Column, 1> kClockColumns{{{"now", oid::kTimestampTz}}};
enum Place {
  kOrdinal,
  kState,
  kFirstOfProgress,
  kNow = kFirstOfProgress + static_cast<int>(kProgressColumns.size()),
};

constexpr std::array<std::pair<std::string_view, AppendState>, 8> kStates{{
    {"won", AppendState::kWon},
    {"gone", AppendState::kGone},
    {"stale", AppendState::kStale},
    {"lost", AppendState::kLost},
    {"early", AppendState::kEarly},
    {"expired", AppendState::kExpired},
    {"moved", AppendState::kMoved},
    {"busy", AppendState::kBusy},
}};

// Which lanes, and what is compared.
void AddConditions(const std::vector<LaneAppend>& lanes, pg::Params& params) {
  const size_t count = lanes.size();
  pg::Int4Array partitions(count);
  pg::Int4Array groups(count);
  pg::Int4Array queues(count);
  pg::Int8Array versions(count);
  pg::Int8Array prev_epochs(count);
  pg::Int8Array prev_stamps(count);
  SparseArray<pg::TimestampTzArray> not_befores(count);
  SparseArray<pg::BoolArray> held(count);
  SparseArray<pg::Int8Array> log_ends(count);
  for (const LaneAppend& lane : lanes) {
    partitions.Add(lane.key.partition.value);
    groups.Add(lane.key.group.value);
    queues.Add(lane.queue.value);
    versions.Add(lane.version);
    prev_epochs.Add(lane.prev_epoch);
    prev_stamps.Add(lane.prev_stamp);
    not_befores.AddOrNull(lane.not_before_micros);
    lane.held ? held.Add(true) : held.AddNull();
    log_ends.AddOrNull(lane.log_end);
  }
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(queues));
  params.Add(std::move(versions)).Add(std::move(prev_epochs)).Add(std::move(prev_stamps));
  std::move(not_befores).MoveTo(params);
  std::move(held).MoveTo(params);
  std::move(log_ends).MoveTo(params);
}

// What the new rows say of messages.
void AddMarks(const std::vector<LaneAppend>& lanes, pg::Params& params) {
  const size_t count = lanes.size();
  pg::Int8Array stamps(count);
  pg::Int8Array cursors(count);
  SparseArray<pg::TextArray> settled(count);
  SparseArray<pg::TextArray> failed(count);
  SparseArray<pg::TextArray> attempt_seqs(count);
  SparseArray<pg::TextArray> attempt_counts(count);
  const auto add_bitmap = [](SparseArray<pg::TextArray>& array, const engine::Bitmap& bitmap) {
    bitmap.empty() ? array.AddNull() : array.Add(bitmap.ToText());
  };
  for (const LaneAppend& lane : lanes) {
    stamps.Add(lane.next.stamp);
    cursors.Add(lane.next.cursor);
    add_bitmap(settled, lane.next.settled);
    add_bitmap(failed, lane.next.failed);
    if (lane.next.attempts.empty()) {
      attempt_seqs.AddNull();
      attempt_counts.AddNull();
    } else {
      const AttemptLiterals literals = ToLiterals(lane.next.attempts);
      attempt_seqs.Add(literals.seqs);
      attempt_counts.Add(literals.counts);
    }
  }
  params.Add(std::move(stamps)).Add(std::move(cursors));
  std::move(settled).MoveTo(params);
  std::move(failed).MoveTo(params);
  std::move(attempt_seqs).MoveTo(params);
  std::move(attempt_counts).MoveTo(params);
}

// The leases of the new rows.
void AddLeases(const std::vector<LaneAppend>& lanes, pg::Params& params) {
  const size_t count = lanes.size();
  SparseArray<pg::UuidArray> ids(count);
  SparseArray<pg::TimestampTzArray> untils(count);
  SparseArray<pg::Int8Array> milliseconds(count);
  SparseArray<pg::Int8Array> ends(count);
  SparseArray<pg::Int4Array> seconds(count);
  for (const LaneAppend& lane : lanes) {
    if (const auto& lease = lane.next.lease) {
      ids.Add(lease->id);
      lease->until_micros == 0 ? untils.AddNull() : untils.Add(lease->until_micros);
      milliseconds.AddOrNull(lane.lease_ms);
      ends.Add(lease->end);
      seconds.Add(lease->seconds);
    } else {
      ids.AddNull();
      untils.AddNull();
      milliseconds.AddNull();
      ends.AddNull();
      seconds.AddNull();
    }
  }
  std::move(ids).MoveTo(params);
  std::move(untils).MoveTo(params);
  std::move(milliseconds).MoveTo(params);
  std::move(ends).MoveTo(params);
  std::move(seconds).MoveTo(params);
}

// The rest of the new rows.
void AddDelivery(const std::vector<LaneAppend>& lanes, pg::Params& params) {
  const size_t count = lanes.size();
  pg::Int4Array deliveries(count);
  SparseArray<pg::TimestampTzArray> ready_ats(count);
  SparseArray<pg::Int8Array> ready_ms(count);
  SparseArray<pg::Int8Array> window_ends(count);
  SparseArray<pg::BoolArray> frees(count);
  for (const LaneAppend& lane : lanes) {
    deliveries.Add(lane.next.deliveries);
    ready_ats.AddOrNull(lane.next.ready_at_micros);
    ready_ms.AddOrNull(lane.ready_ms);
    window_ends.AddOrNull(lane.next.window_end);
    lane.frees ? frees.Add(true) : frees.AddNull();
  }
  params.Add(std::move(deliveries));
  std::move(ready_ats).MoveTo(params);
  std::move(ready_ms).MoveTo(params);
  std::move(window_ends).MoveTo(params);
  std::move(frees).MoveTo(params);
}

void AddDeadLetters(const std::vector<LaneAppend>& lanes, pg::Params& params) {
  SparseArray<pg::Int4Array> places(0);
  SparseArray<pg::Int8Array> seqs(0);
  SparseArray<pg::TextArray> errors(0);
  SparseArray<pg::Int4Array> counts(0);
  int32_t place = 0;
  for (const LaneAppend& lane : lanes) {
    ++place;
    for (const engine::DeadLetter& letter : lane.dead) {
      places.Add(place);
      seqs.Add(letter.seq);
      letter.error.empty() ? errors.AddNull() : errors.Add(letter.error);
      counts.Add(letter.failures);
    }
  }
  std::move(places).MoveTo(params);
  std::move(seqs).MoveTo(params);
  std::move(errors).MoveTo(params);
  std::move(counts).MoveTo(params);
}

const std::vector<pg::Oid> kParameterTypes{
    oid::kInt8, oid::kInt8, oid::kBool,
    // lanes and conditions
    oid::kInt4Array, oid::kInt4Array, oid::kInt4Array, oid::kInt8Array, oid::kInt8Array,
    oid::kInt8Array, oid::kTimestampTzArray, oid::kBoolArray, oid::kInt8Array,
    // marks
    oid::kInt8Array, oid::kInt8Array, oid::kTextArray, oid::kTextArray, oid::kTextArray,
    oid::kTextArray,
    // leases
    oid::kUuidArray, oid::kTimestampTzArray, oid::kInt8Array, oid::kInt8Array, oid::kInt4Array,
    // delivery
    oid::kInt4Array, oid::kTimestampTzArray, oid::kInt8Array, oid::kInt8Array, oid::kBoolArray,
    // dead letters
    oid::kInt4Array, oid::kInt8Array, oid::kTextArray, oid::kInt4Array};

// `rows`: what is appended, for who reads pg_stat_activity or the server's log.
std::string SqlOf(std::string_view rows) {
  return fmt::format(
      "/* {} */ SELECT * FROM queen.append_lanes($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,"
      " $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30,"
      " $31, $32)",
      rows);
}

}  // namespace

const pg::Statement kLeaseStatement{"append_leases", SqlOf("leases"), kParameterTypes};
const pg::Statement kAckStatement{"append_verdicts", SqlOf("verdicts"), kParameterTypes};
const pg::Statement kReturnStatement{"append_returns", SqlOf("returns"), kParameterTypes};

std::optional<AppendState> StateNamed(std::string_view name) {
  for (const auto& [known, state] : kStates) {
    if (known == name) return state;
  }
  return std::nullopt;
}

pg::Params Encode(const engine::AppendRequest& request) {
  pg::Params params(kParameterTypes.size());
  request.broker ? params.Int8(*request.broker) : params.Null(oid::kInt8);
  request.n ? params.Int8(*request.n) : params.Null(oid::kInt8);
  params.Bool(request.sync);
  AddConditions(request.lanes, params);
  AddMarks(request.lanes, params);
  AddLeases(request.lanes, params);
  AddDelivery(request.lanes, params);
  AddDeadLetters(request.lanes, params);
  return params;
}

Result<std::vector<Row>> Decode(const pg::Rows& rows) {
  QUEEN_RETURN_IF_ERROR(
      CheckColumns(kName, rows, {kStateColumns, kProgressColumns, kClockColumns}));
  std::vector<Row> lanes(static_cast<size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) {
    Row& lane = lanes[static_cast<size_t>(row)];
    lane.index = static_cast<size_t>(rows.Int4(row, kOrdinal) - 1);
    const auto state = StateNamed(rows.Text(row, kState));
    if (!state) {
      return Status(Code::kInternal,
                    fmt::format("{} answered the unknown state {}", kName, rows.Text(row, kState)));
    }
    lane.state = *state;
    if (!rows.IsNull(row, kFirstOfProgress)) {
      lane.newest = ReadProgress(rows, row, kFirstOfProgress);
    }
    lane.now_micros = rows.TimestampTz(row, kNow);
  }
  return lanes;
}

}  // namespace queen::storage::append_lanes
