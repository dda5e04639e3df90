#include <algorithm>
#include <charconv>

#include "simulator/database/procedures/append.h"
#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/progress_answer.h"

namespace queen::simulator {
namespace {

// An array literal such as '{7,9}'.
template <typename T>
std::vector<T> NumbersOf(std::optional<std::string_view> literal) {
  std::vector<T> numbers;
  if (!literal) return numbers;
  const char* at = literal->data() + 1;
  const char* end = literal->data() + literal->size();
  while (at < end) {
    T number = 0;
    at = std::from_chars(at, end, number).ptr + 1;
    numbers.push_back(number);
  }
  return numbers;
}

Bits BitsOfText(std::optional<std::string_view> text) {
  return text ? Bits(std::string(*text)) : std::nullopt;
}

// greatest(time, now + ms)
std::optional<int64_t> Later(std::optional<int64_t> time, std::optional<int64_t> ms, int64_t now) {
  if (!ms) return time;
  return std::max(time.value_or(now + *ms * 1000), now + *ms * 1000);
}

std::vector<Append> ReadAppends(const Arguments& in, int64_t now) {
  const Array<int32_t> partitions = in.Int4s(4);
  const Array<int32_t> groups = in.Int4s(5);
  const Array<int32_t> queues = in.Int4s(6);
  const Array<int64_t> versions = in.Int8s(7);
  const Array<int64_t> prev_epochs = in.Int8s(8);
  const Array<int64_t> prev_stamps = in.Int8s(9);
  const Array<int64_t> not_befores = in.Times(10);
  const Array<bool> held = in.Bools(11);
  const Array<int64_t> log_ends = in.Int8s(12);
  const Array<int64_t> stamps = in.Int8s(13);
  const Array<int64_t> cursors = in.Int8s(14);
  const Array<std::string_view> settled = in.Texts(15);
  const Array<std::string_view> failed = in.Texts(16);
  const Array<std::string_view> attempt_seqs = in.Texts(17);
  const Array<std::string_view> attempt_counts = in.Texts(18);
  const Array<Uuid> lease_ids = in.Uuids(19);
  const Array<int64_t> lease_untils = in.Times(20);
  const Array<int64_t> lease_ms = in.Int8s(21);
  const Array<int64_t> lease_ends = in.Int8s(22);
  const Array<int32_t> lease_seconds = in.Int4s(23);
  const Array<int32_t> deliveries = in.Int4s(24);
  const Array<int64_t> ready_ats = in.Times(25);
  const Array<int64_t> ready_ms = in.Int8s(26);
  const Array<int64_t> window_ends = in.Int8s(27);
  const Array<bool> frees = in.Bools(28);
  std::vector<Append> appends(partitions.size());
  for (size_t i = 0; i < appends.size(); ++i) {
    Append& append = appends[i];
    append.lane = {partitions.At(i), groups.At(i)};
    append.queue_id = queues.At(i);
    append.version = versions.At(i);
    append.prev_epoch = prev_epochs.At(i);
    append.prev_stamp = prev_stamps.At(i);
    append.not_before = not_befores[i];
    append.held = held[i].value_or(false);
    append.log_end = log_ends[i];
    append.frees = frees[i].value_or(false);
    ProgressRow& next = append.next;
    next.stamp = stamps.At(i);
    next.cursor = cursors.At(i);
    next.settled = BitsOfText(settled[i]);
    next.failed = BitsOfText(failed[i]);
    next.attempt_seqs = NumbersOf<int64_t>(attempt_seqs[i]);
    next.attempt_counts = NumbersOf<int32_t>(attempt_counts[i]);
    next.lease_id = lease_ids[i];
    next.lease_until = Later(lease_untils[i], lease_ms[i], now);
    next.lease_end = lease_ends[i];
    next.lease_seconds = lease_seconds[i];
    next.deliveries = deliveries.At(i);
    next.ready_at = Later(ready_ats[i], ready_ms[i], now);
    next.window_end = window_ends[i];
  }
  return appends;
}

int64_t LogEndOf(const Transaction& reader, const Catalog& catalog, int32_t partition_id) {
  const auto end = EndOfLog(reader, catalog, partition_id);
  return end ? end->seq_end : 0;
}

// Whether the row is to be inserted: what it was decided from stands, as far as the first statement
// sees, and is locked.
bool MayAppend(Transaction& writer, Catalog& catalog, const Append& append, int64_t now) {
  const QueueRow* queue = catalog.queues.Find(writer, append.queue_id);
  if (queue == nullptr || queue->version != append.version) return false;
  if (append.not_before && *append.not_before > now) return false;
  if (append.log_end && *append.log_end != LogEndOf(writer, catalog, append.lane.partition_id)) {
    return false;
  }
  if (append.prev_epoch == 0) {
    return !append.held && NewestProgress(writer, catalog, append.lane).first == nullptr &&
           writer.TryLock(LockOfLane(append.lane));
  }
  const ProgressKey key{append.lane, append.prev_epoch};
  const ProgressRow* row = catalog.progress.Find(writer, key);
  if (row == nullptr || row->stamp != append.prev_stamp) return false;
  const bool lives = row->lease_until > now;
  return catalog.progress.TryLock(writer, key) == RowLock::kLocked && (!append.held || lives);
}

const char* StateOfLane(const Transaction& reader, const Catalog& catalog, const Append& append,
                        const ProgressKey* newest, const ProgressRow* row, int64_t now) {
  if (row != nullptr && row->stamp == append.next.stamp) return "won";
  const QueueRow* queue = catalog.queues.Find(reader, append.queue_id);
  if (queue == nullptr || catalog.partitions.Find(reader, append.lane.partition_id) == nullptr ||
      catalog.groups.Find(reader, append.lane.group_id) == nullptr) {
    return "gone";
  }
  if (queue->version != append.version) return "stale";
  if ((newest == nullptr ? 0 : newest->epoch) != append.prev_epoch ||
      (row != nullptr && row->stamp != append.prev_stamp)) {
    return "lost";
  }
  if (append.not_before && *append.not_before > now) return "early";
  if (append.held && (row == nullptr || !(row->lease_until > now))) return "expired";
  if (append.log_end && *append.log_end != LogEndOf(reader, catalog, append.lane.partition_id)) {
    return "moved";
  }
  return "busy";
}

std::vector<DeadMessage> ReadDead(const Arguments& in, const std::vector<Append>& appends,
                                  const std::vector<bool>& won) {
  const Array<int32_t> places = in.Int4s(29);
  const Array<int64_t> seqs = in.Int8s(30);
  const Array<std::string_view> errors = in.Texts(31);
  const Array<int32_t> counts = in.Int4s(32);
  std::vector<DeadMessage> dead;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places.At(i) - 1);
    if (!won[place]) continue;
    DeadMessage message{appends[place].lane, seqs.At(i), std::nullopt, counts.At(i)};
    if (errors[i]) message.error = std::string(*errors[i]);
    dead.push_back(std::move(message));
  }
  return dead;
}

}  // namespace

Task<std::vector<AppendedRow>> AppendRows(Transaction& transaction, Catalog& catalog,
                                          const std::vector<Append>& appends, int64_t now,
                                          int& inserted_count) {
  co_await transaction.NextStatement();
  std::vector<size_t> order;
  for (size_t i = 0; i < appends.size(); ++i) {
    if (MayAppend(transaction, catalog, appends[i], now)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return appends[a].lane < appends[b].lane; });
  std::vector<size_t> inserted;
  for (const size_t i : order) {
    const ProgressKey key{appends[i].lane, appends[i].prev_epoch + 1};
    if (co_await InsertProgress(transaction, catalog, key, appends[i].next)) inserted.push_back(i);
  }

  co_await transaction.NextStatement();
  std::vector<AppendedRow> rows(appends.size());
  size_t won = 0;
  for (size_t i = 0; i < appends.size(); ++i) {
    const auto [newest, row] = NewestProgress(transaction, catalog, appends[i].lane);
    rows[i].state = StateOfLane(transaction, catalog, appends[i], newest, row, now);
    if (row != nullptr) rows[i].newest.emplace(newest->epoch, *row);
    if (rows[i].won()) ++won;
  }

  if (inserted.size() > won) {
    co_await transaction.NextStatement();
    for (const size_t i : inserted) {  // below the newest, where nobody may find them
      if (rows[i].won()) continue;
      const ProgressKey key{appends[i].lane, appends[i].prev_epoch + 1};
      (void)co_await catalog.progress.Delete(transaction, key);
    }
  }
  inserted_count = static_cast<int>(inserted.size());
  co_return rows;
}

Task<pg::Rows> AppendLanes(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const auto broker = call.arguments.Int8(1);
  const auto n = call.arguments.Int8(2);
  const bool sync = call.arguments.Bool(3).value_or(true);
  const int64_t now = transaction.Now();
  if (!sync) transaction.set_asynchronous();
  const std::vector<Append> appends = ReadAppends(call.arguments, now);
  int inserted = 0;
  const std::vector<AppendedRow> rows =
      co_await AppendRows(transaction, catalog, appends, now, inserted);

  std::vector<AnswerColumn> columns{{"ordinal", oid::kInt4}, {"state", oid::kText}};
  AddProgressColumns(columns);
  columns.push_back({"now", oid::kTimestampTz});
  Answer answer(std::move(columns));
  std::vector<bool> won(appends.size());
  std::vector<int32_t> freed;
  for (size_t i = 0; i < appends.size(); ++i) {
    won[i] = rows[i].won();
    if (won[i] && appends[i].frees) freed.push_back(appends[i].lane.partition_id);
    answer.Int4(static_cast<int32_t>(i + 1)).Text(rows[i].state);
    AddAppended(answer, rows[i], now);
  }

  std::vector<DeadMessage> dead = ReadDead(call.arguments, appends, won);
  if (!dead.empty()) co_await InsertDeadLetters(transaction, catalog, std::move(dead));

  co_await transaction.NextStatement();
  if (n) {
    const BatchKey key{broker.value_or(0), *n};
    co_await NoteBatch(transaction, catalog, key, std::move(freed), {});
  } else if (!freed.empty()) {
    co_await Announce(transaction, catalog, std::move(freed), broker.value_or(0));
  } else if (sync && inserted == 0) {
    AwaitStandby(transaction);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
