#include "storage/calls/append_lanes.h"

#include <string>

#include "storage/calls/progress_columns.h"

namespace queen::storage {
namespace {

using namespace pg::oid;  // NOLINT(google-build-using-namespace): the table below is made of them

const pg::Statement kAppendLanes{
    "append_lanes",
    "SELECT * FROM queen.append_lanes($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
    "$15, $16, $17, $18,"
    " $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)",
    {kInt8,      kInt8,      kBool,      kInt4Array, kInt4Array,
     kInt4Array, kInt8Array, kInt8Array, kInt8Array, kTimestampTzArray,
     kBoolArray, kInt8Array, kInt8Array, kInt8Array, kTextArray,
     kTextArray, kTextArray, kTextArray, kUuidArray, kTimestampTzArray,
     kInt8Array, kInt8Array, kInt4Array, kInt4Array, kTimestampTzArray,
     kInt8Array, kInt8Array, kBoolArray, kInt4Array, kInt8Array,
     kTextArray, kInt4Array}};

enum Column { kOrdinal, kState, kProgress, kNow = kProgress + kProgressColumns };

// An array in which most elements are null: as a whole null when all are.
template <typename Array>
class Sparse {
 public:
  explicit Sparse(size_t count) : array_(count) {}
  template <typename Value>
  void Add(const Value& value) {
    array_.Add(value);
    any_ = true;
  }
  void AddNull() { array_.AddNull(); }
  template <typename Value>
  void AddOrNull(const std::optional<Value>& value) {
    if (value) {
      Add(*value);
    } else {
      AddNull();
    }
  }
  void AddTextOrNull(const std::string& text) {
    if (text.empty()) {
      AddNull();
    } else {
      Add(std::string_view(text));
    }
  }
  void AddTo(pg::Params& params) {
    if (any_) {
      params.Add(std::move(array_));
    } else {
      params.Null(Array::kOid);
    }
  }

 private:
  Array array_;
  bool any_ = false;
};

template <typename Get>
std::string ArrayText(const std::vector<engine::Attempt>& attempts, Get get) {
  std::string text;
  for (const engine::Attempt& attempt : attempts) {
    text += text.empty() ? '{' : ',';
    text += std::to_string(get(attempt));
  }
  if (!text.empty()) text += '}';
  return text;
}

engine::AppendState StateOf(std::string_view name) {
  using engine::AppendState;
  if (name == "won") return AppendState::kWon;
  if (name == "lost") return AppendState::kLost;
  if (name == "busy") return AppendState::kBusy;
  if (name == "early") return AppendState::kEarly;
  if (name == "expired") return AppendState::kExpired;
  if (name == "moved") return AppendState::kMoved;
  if (name == "stale") return AppendState::kStale;
  return AppendState::kGone;
}

}  // namespace

pg::Batch AppendLanes(const engine::AppendRequest& request, int64_t broker) {
  const size_t count = request.lanes.size();
  pg::Int4Array partitions(count, 4);
  pg::Int4Array groups(count, 4);
  pg::Int4Array queues(count, 4);
  pg::Int8Array versions(count, 8);
  pg::Int8Array prev_epochs(count, 8);
  pg::Int8Array prev_stamps(count, 8);
  Sparse<pg::TimestampTzArray> not_befores(count);
  Sparse<pg::BoolArray> held(count);
  Sparse<pg::Int8Array> log_ends(count);
  pg::Int8Array stamps(count, 8);
  pg::Int8Array cursors(count, 8);
  Sparse<pg::TextArray> settled(count);
  Sparse<pg::TextArray> failed(count);
  Sparse<pg::TextArray> attempt_seqs(count);
  Sparse<pg::TextArray> attempt_counts(count);
  Sparse<pg::UuidArray> lease_ids(count);
  Sparse<pg::TimestampTzArray> lease_untils(count);
  Sparse<pg::Int8Array> lease_ms(count);
  Sparse<pg::Int8Array> lease_ends(count);
  Sparse<pg::Int4Array> lease_seconds(count);
  pg::Int4Array deliveries(count, 4);
  Sparse<pg::TimestampTzArray> ready_ats(count);
  Sparse<pg::Int8Array> ready_ms(count);
  Sparse<pg::Int8Array> window_ends(count);
  Sparse<pg::BoolArray> frees(count);
  pg::Int4Array dead_rows;
  pg::Int8Array dead_seqs;
  pg::TextArray dead_errors;
  pg::Int4Array dead_counts;
  for (size_t i = 0; i < count; ++i) {
    const engine::LaneAppend& lane = request.lanes[i];
    const engine::Progress& next = lane.next;
    partitions.Add(lane.key.partition.value);
    groups.Add(lane.key.group.value);
    queues.Add(lane.queue.value);
    versions.Add(lane.version);
    prev_epochs.Add(lane.prev_epoch);
    prev_stamps.Add(lane.prev_stamp);
    not_befores.AddOrNull(lane.not_before_micros > 0 ? std::optional(lane.not_before_micros)
                                                     : std::nullopt);
    held.AddOrNull(lane.held ? std::optional(true) : std::nullopt);
    log_ends.AddOrNull(lane.log_end);
    stamps.Add(next.stamp);
    cursors.Add(next.cursor);
    settled.AddTextOrNull(next.settled.ToText());
    failed.AddTextOrNull(next.failed.ToText());
    attempt_seqs.AddTextOrNull(
        ArrayText(next.attempts, [](const auto& attempt) { return attempt.seq; }));
    attempt_counts.AddTextOrNull(
        ArrayText(next.attempts, [](const auto& attempt) { return attempt.failures; }));
    const bool begins = next.lease && lane.lease_ms > 0;
    lease_ids.AddOrNull(next.lease ? std::optional(next.lease->id) : std::nullopt);
    lease_untils.AddOrNull(next.lease && !begins ? std::optional(next.lease->until_micros)
                                                 : std::nullopt);
    lease_ms.AddOrNull(begins ? std::optional(lane.lease_ms) : std::nullopt);
    lease_ends.AddOrNull(next.lease ? std::optional(next.lease->end) : std::nullopt);
    lease_seconds.AddOrNull(next.lease ? std::optional(next.lease->seconds) : std::nullopt);
    deliveries.Add(next.deliveries);
    ready_ats.AddOrNull(next.ready_at_micros);
    ready_ms.AddOrNull(lane.ready_in_ms);
    window_ends.AddOrNull(next.window_end);
    frees.AddOrNull(lane.frees ? std::optional(true) : std::nullopt);
    for (const engine::DeadLetter& letter : lane.dead) {
      dead_rows.Add(static_cast<int32_t>(i + 1));
      dead_seqs.Add(letter.seq);
      if (letter.error.empty()) {
        dead_errors.AddNull();
      } else {
        dead_errors.Add(letter.error);
      }
      dead_counts.Add(letter.failures);
    }
  }
  pg::Params params(32);
  params.Int8(broker).Null(kInt8).Bool(request.sync);
  params.Add(std::move(partitions))
      .Add(std::move(groups))
      .Add(std::move(queues))
      .Add(std::move(versions));
  params.Add(std::move(prev_epochs)).Add(std::move(prev_stamps));
  not_befores.AddTo(params);
  held.AddTo(params);
  log_ends.AddTo(params);
  params.Add(std::move(stamps)).Add(std::move(cursors));
  settled.AddTo(params);
  failed.AddTo(params);
  attempt_seqs.AddTo(params);
  attempt_counts.AddTo(params);
  lease_ids.AddTo(params);
  lease_untils.AddTo(params);
  lease_ms.AddTo(params);
  lease_ends.AddTo(params);
  lease_seconds.AddTo(params);
  params.Add(std::move(deliveries));
  ready_ats.AddTo(params);
  ready_ms.AddTo(params);
  window_ends.AddTo(params);
  frees.AddTo(params);
  params.Add(std::move(dead_rows))
      .Add(std::move(dead_seqs))
      .Add(std::move(dead_errors))
      .Add(std::move(dead_counts));
  return {kAppendLanes, std::move(params)};
}

engine::AppendReply ReadAppendedLanes(const pg::Rows& rows, size_t lanes) {
  engine::AppendReply reply;
  reply.lanes.resize(lanes);
  for (int row = 0; row < rows.rows(); ++row) {
    reply.now_micros = rows.TimestampTz(row, kNow);
    engine::AppendAnswer& answer = reply.lanes[static_cast<size_t>(rows.Int4(row, kOrdinal)) - 1];
    answer.state = StateOf(rows.Text(row, kState));
    if (!rows.IsNull(row, kProgress)) answer.present = ReadProgress(rows, row, kProgress);
  }
  return reply;
}

}  // namespace queen::storage
