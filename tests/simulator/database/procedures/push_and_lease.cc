#include <map>

#include "simulator/database/procedures/append.h"
#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/push.h"

namespace queen::simulator {
namespace {

constexpr int64_t kNoEnd = -1;

// `bases`: where the segments are stored, by their place in the arrays.
std::vector<Append> ReadLeases(const Arguments& in, const std::map<int32_t, int64_t>& bases,
                               int64_t now) {
  const Array<int32_t> partitions = in.Int4s(18);
  const Array<int32_t> groups = in.Int4s(19);
  const Array<int32_t> queues = in.Int4s(20);
  const Array<int64_t> versions = in.Int8s(21);
  const Array<int64_t> prev_epochs = in.Int8s(22);
  const Array<int64_t> prev_stamps = in.Int8s(23);
  const Array<int64_t> not_befores = in.Times(24);
  const Array<int64_t> log_ends = in.Int8s(25);
  const Array<int32_t> firsts = in.Int4s(26);
  const Array<int64_t> stamps = in.Int8s(27);
  const Array<int64_t> cursors = in.Int8s(28);
  const Array<Uuid> lease_ids = in.Uuids(29);
  const Array<int64_t> lease_ms = in.Int8s(30);
  const Array<int64_t> lease_ends = in.Int8s(31);
  const Array<int32_t> lease_seconds = in.Int4s(32);
  const Array<int32_t> deliveries = in.Int4s(33);
  std::vector<Append> appends(partitions.size());
  for (size_t i = 0; i < appends.size(); ++i) {
    Append& append = appends[i];
    append.lane = {partitions.At(i), groups.At(i)};
    append.queue_id = queues.At(i);
    append.version = versions.At(i);
    append.prev_epoch = prev_epochs.At(i);
    append.prev_stamp = prev_stamps.At(i);
    append.not_before = not_befores[i];
    const auto base = bases.find(firsts.At(i));
    if (base == bases.end() || base->second != log_ends.At(i)) append.log_end = kNoEnd;
    append.next.stamp = stamps.At(i);
    append.next.cursor = cursors.At(i);
    append.next.lease_id = lease_ids[i];
    append.next.lease_until = now + lease_ms.At(i) * 1000;
    append.next.lease_end = lease_ends[i];
    append.next.lease_seconds = lease_seconds[i];
    append.next.deliveries = deliveries.At(i);
  }
  return appends;
}

}  // namespace

Task<pg::Rows> PushAndLease(Call& call) {
  Transaction& transaction = call.transaction;
  const PushRequest request = ReadPushRequest(call.arguments);
  const std::vector<PushedRow> pushed = co_await Push(transaction, call.catalog, request);
  std::vector<AnswerColumn> columns{{"ordinal", oid::kInt4},
                                    {"status", oid::kText},
                                    {"base_seq", oid::kInt8},
                                    {"created_at", oid::kTimestampTz},
                                    {"line", oid::kInt4}};
  AddProgressColumns(columns);
  const size_t progress_columns = columns.size() - 5;
  columns.push_back({"now", oid::kTimestampTz});
  Answer answer(std::move(columns));
  std::map<int32_t, int64_t> bases;
  for (const PushedRow& row : pushed) {
    if (row.status == "queued") bases[row.ordinal] = row.base_seq;
    answer.Int4(row.ordinal).Text(row.status).Int8(row.base_seq).Time(row.created_at);
    answer.Int4(row.line);
    for (size_t column = 0; column <= progress_columns; ++column) answer.Null();
  }

  const int64_t now = transaction.Now();
  const std::vector<Append> appends = ReadLeases(call.arguments, bases, now);
  int inserted = 0;
  const std::vector<AppendedRow> rows =
      co_await AppendRows(transaction, call.catalog, appends, now, inserted);
  for (size_t i = 0; i < rows.size(); ++i) {
    answer.Int4(static_cast<int32_t>(i + 1)).Text(rows[i].state).Null().Null().Null();
    AddAppended(answer, rows[i], now);
  }
  if (inserted == 0) AwaitStandby(transaction);
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
