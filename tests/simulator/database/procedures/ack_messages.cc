#include <algorithm>
#include <set>

#include "simulator/database/procedures/ack.h"
#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {
namespace {

// A key as the first statement has judged it.
struct JudgedKey {
  size_t place = 0;
  ProgressKey key;  // of the new row
  ProgressRow next;
  Verdict verdict;
  bool inserted = false;
  bool lost = false;
};

ProgressRow NextRow(const ProgressRow& row, const QueueRow& queue, const AckKey& key,
                    const Verdict& verdict, int64_t now) {
  ProgressRow next;
  next.cursor = verdict.new_cursor;
  next.settled = verdict.new_settled;
  next.attempt_seqs = verdict.tried_seqs;
  next.attempt_counts = verdict.tried_counts;
  if (!verdict.released) {
    next.failed = verdict.new_failed;
    next.lease_id = row.lease_id;
    next.lease_until = row.lease_until;
    next.lease_end = row.lease_end;
    next.lease_seconds = row.lease_seconds;
  }
  if (BitsGet(verdict.new_failed, 0) || (!key.ends && !verdict.released)) {
    next.deliveries = 0;
  } else if (verdict.new_cursor == row.cursor) {
    next.deliveries = row.deliveries - (verdict.released ? 1 : 0);
  } else {
    next.deliveries = verdict.released ? 0 : 1;
  }
  next.ready_at = row.ready_at;
  if (verdict.any_failed && queue.retry_delay > 0) {
    const int64_t ready_at = now + int64_t{queue.retry_delay} * 1000;
    next.ready_at = std::max(next.ready_at.value_or(ready_at), ready_at);
  }
  next.window_end = row.window_end;
  return next;
}

}  // namespace

Task<std::vector<AckRow>> AckMessages(Transaction& writer, Catalog& catalog,
                                      std::optional<int64_t> broker, std::optional<int64_t> n,
                                      const std::vector<AckKey>& keys) {
  const int64_t now = writer.Now();
  co_await writer.NextStatement();
  std::vector<AckRow> rows(keys.size());
  std::vector<JudgedKey> judged;
  std::set<LaneId> seen;
  for (size_t i = 0; i < keys.size(); ++i) {
    const AckKey& key = keys[i];
    AckRow& answer = rows[i];
    const PartitionRow* partition = catalog.partitions.Find(writer, key.lane.partition_id);
    const QueueRow* queue =
        partition == nullptr ? nullptr : catalog.queues.Find(writer, partition->queue_id);
    const GroupRow* group = catalog.groups.Find(writer, key.lane.group_id);
    const auto [newest, row] = NewestProgress(writer, catalog, key.lane);
    if (row != nullptr) {
      answer.cursor = row->cursor;
      answer.settled = row->settled;
      answer.failed = row->failed;
      answer.lease_end = row->lease_end;
    }
    const bool copy = !seen.insert(key.lane).second;
    if (queue == nullptr || group == nullptr || group->queue_id != partition->queue_id) {
      answer.state = "gone";
    } else if (copy) {
      answer.state = "again";
    } else if (row == nullptr || !(row->lease_until > now) ||
               (key.lease && key.lease != row->lease_id)) {
      answer.state = "refused";
    } else {
      answer.state = "applied";
      JudgedKey one;
      one.place = i;
      one.key = {key.lane, newest->epoch + 1};
      one.verdict = ApplyVerdicts(*row, queue->retry_limit, key);
      one.next = NextRow(*row, *queue, key, one.verdict, now);
      judged.push_back(std::move(one));
    }
  }
  std::sort(judged.begin(), judged.end(),
            [](const JudgedKey& a, const JudgedKey& b) { return a.key < b.key; });
  bool any_inserted = false;
  for (JudgedKey& one : judged) {
    one.inserted = co_await InsertProgress(writer, catalog, one.key, one.next);
    any_inserted |= one.inserted;
  }

  co_await writer.NextStatement();
  std::vector<DeadMessage> dead;
  std::set<int32_t> freed;
  for (JudgedKey& one : judged) {
    if (one.inserted) one.lost = co_await DropIfStale(writer, catalog, one.key);
    AckRow& answer = rows[one.place];
    if (!one.inserted || one.lost) {
      answer.state = "again";
      continue;
    }
    answer.new_cursor = one.verdict.new_cursor;
    answer.released = one.verdict.released;
    if (one.verdict.released) freed.insert(one.key.lane.partition_id);
    for (size_t i = 0; i < one.verdict.dead.size(); ++i) {
      const DeadLetterKey& letter = one.verdict.dead[i];
      answer.dead_seqs.push_back(letter.seq);
      dead.push_back(
          {letter.lane, letter.seq, one.verdict.dead_errors[i], one.verdict.dead_counts[i]});
    }
  }
  if (!dead.empty()) co_await InsertDeadLetters(writer, catalog, std::move(dead));

  co_await writer.NextStatement();
  std::vector<int32_t> partitions(freed.begin(), freed.end());
  if (n) {
    const BatchKey key{broker.value_or(0), *n};
    co_await NoteBatch(writer, catalog, key, std::move(partitions), {});
  } else {
    co_await Announce(writer, catalog, std::move(partitions), broker.value_or(0));
    if (!any_inserted) AwaitStandby(writer);
  }
  co_return rows;
}

}  // namespace queen::simulator
