// queen.apply_verdicts and queen.item_verdicts.
#include <algorithm>
#include <map>

#include "simulator/database/procedures/ack.h"

namespace queen::simulator {
namespace {

// The single verdicts on one message, and how often it has failed before.
struct Judged {
  std::string kind;  // the first of failed and dlq
  std::optional<std::string> error;
  bool retry = false;
  bool cumulative = false;
  bool before = false;
  int32_t failures = 0;
};

std::map<int64_t, Judged> Judge(const ProgressRow& row, const AckKey& key) {
  std::map<int64_t, Judged> judged;
  for (const AckItem& item : key.items) {
    if (item.seq < row.cursor || item.seq >= *row.lease_end) continue;
    Judged& one = judged[item.seq];
    one.cumulative |= item.kind == "cumulative";
    one.before |= item.kind == "before";
    const int64_t place = item.seq - row.cursor;
    if (BitsGet(row.settled, place) || BitsGet(row.failed, place)) continue;  // has its verdict
    one.retry |= item.kind == "retry";
    if (one.kind.empty() && (item.kind == "failed" || item.kind == "dlq")) {
      one.kind = item.kind;
      one.error = item.error;
    }
  }
  for (size_t i = 0; i < row.attempt_seqs.size(); ++i) {
    Judged& one = judged[row.attempt_seqs[i]];
    one.failures = std::max(one.failures, row.attempt_counts[i]);
  }
  return judged;
}

struct Items {
  std::vector<int64_t> dead_places;
  std::vector<int64_t> failed_places;
  std::optional<int64_t> cumulative;
  bool retried = false;
};

Items ApplyItems(const ProgressRow& row, int32_t retry_limit, const AckKey& key, Verdict& verdict) {
  Items items;
  for (const auto& [seq, one] : Judge(row, key)) {
    const bool failed = one.kind == "failed";
    const int32_t failures = one.failures + (failed ? 1 : 0);
    const bool dead = one.kind == "dlq" || (failed && one.failures >= retry_limit);
    if (dead) {
      items.dead_places.push_back(seq - row.cursor);
      verdict.dead.push_back({key.lane, seq});
      verdict.dead_errors.push_back(one.error);
      verdict.dead_counts.push_back(failures);
    } else {
      if (failed) items.failed_places.push_back(seq - row.cursor);
      verdict.any_failed |= failed;
      if (failures > 0) {
        verdict.tried_seqs.push_back(seq);
        verdict.tried_counts.push_back(failures);
      }
    }
    if (one.cumulative || one.before) {
      items.cumulative =
          std::max(items.cumulative.value_or(seq - 1), one.cumulative ? seq : seq - 1);
    }
    items.retried |= one.retry;
  }
  return items;
}

Bits NullIfNone(Bits bits) { return BitsCount(bits) == 0 ? std::nullopt : bits; }

// Without what is settled behind the verdict.
void KeepUnsettled(Verdict& verdict) {
  std::vector<int64_t> seqs;
  std::vector<int32_t> counts;
  for (size_t i = 0; i < verdict.tried_seqs.size(); ++i) {
    const int64_t seq = verdict.tried_seqs[i];
    if (seq < verdict.new_cursor || BitsGet(verdict.new_settled, seq - verdict.new_cursor)) {
      continue;
    }
    seqs.push_back(seq);
    counts.push_back(verdict.tried_counts[i]);
  }
  verdict.tried_seqs = std::move(seqs);
  verdict.tried_counts = std::move(counts);
}

}  // namespace

Verdict ApplyVerdicts(const ProgressRow& row, int32_t retry_limit, const AckKey& key) {
  Verdict verdict;
  const int64_t span = *row.lease_end - row.cursor;
  verdict.released = key.ends.value_or(false);
  if (key.retry_from && *key.retry_from >= row.cursor && *key.retry_from < *row.lease_end) {
    const int64_t place = *key.retry_from - row.cursor;
    verdict.released |= !BitsGet(row.settled, place) && !BitsGet(row.failed, place);
  }
  verdict.new_settled = row.settled;
  verdict.new_failed = row.failed;

  Bits done;
  if (key.base < row.cursor) {
    done = BitsFrom(key.done, row.cursor - key.base);
  } else if (key.done) {
    done = std::string(static_cast<size_t>(std::min(key.base - row.cursor, span)), '0') + *key.done;
  }
  std::optional<int64_t> upto;
  if (key.cumulative && *key.cumulative < *row.lease_end) upto = key.cumulative;

  if (!key.items.empty() || !row.attempt_seqs.empty()) {
    const Items items = ApplyItems(row, retry_limit, key, verdict);
    verdict.released |= items.retried;
    upto = std::max(upto, items.cumulative);
    verdict.new_failed = BitsOr(row.failed, BitsOf(items.failed_places));
    verdict.new_settled = BitsOr(row.settled, BitsOf(items.dead_places));
  }

  if (upto && *upto >= row.cursor) {
    done = BitsOr(done, std::string(static_cast<size_t>(*upto - row.cursor + 1), '1'));
  }
  if (done) {
    std::string completed = BitsResize(done, span);
    for (size_t i = 0; i < completed.size(); ++i) {  // what failed under the lease is not completed
      if (BitsGet(verdict.new_failed, static_cast<int64_t>(i))) completed[i] = '0';
    }
    verdict.new_settled = BitsOr(verdict.new_settled, completed);
  }

  const int64_t leading = BitsLeading(verdict.new_settled);
  verdict.new_cursor = row.cursor + leading;
  if (leading > 0) {
    verdict.new_settled = BitsFrom(verdict.new_settled, leading);
    verdict.new_failed = BitsFrom(verdict.new_failed, leading);
  }
  verdict.new_settled = NullIfNone(verdict.new_settled);
  verdict.new_failed = NullIfNone(verdict.new_failed);
  const int64_t left = *row.lease_end - verdict.new_cursor;
  if (left <= 0 ||
      BitsCount(BitsResize(BitsOr(verdict.new_settled, verdict.new_failed), left)) == left) {
    verdict.released = true;
  }
  KeepUnsettled(verdict);
  return verdict;
}

}  // namespace queen::simulator
