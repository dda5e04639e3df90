#include "engine/verdict_rule.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/planted.h"

namespace queen::engine {
namespace {

// What the single verdicts come to.
struct Singles {
  Bitmap dead;    // from the cursor on
  Bitmap failed;  // to be delivered again
  std::vector<DeadLetter> letters;
  std::map<int64_t, int32_t>
      failures;                 // so far, by offset, of messages that may be delivered again
  int64_t completed_upto = -1;  // this offset and those before it are completed
  bool any_failed = false;
  bool handed_back = false;
};

class SinglesReader {
 public:
  SinglesReader(const Progress& progress, int32_t retry_limit)
      : progress_(progress), retry_limit_(retry_limit) {
    for (const Attempt& attempt : progress.attempts) read_.failures[attempt.seq] = attempt.failures;
  }

  void Read(const SingleVerdict& single) {
    if (single.seq < progress_.cursor || single.seq >= progress_.lease->end) return;
    const int64_t place = single.seq - progress_.cursor;
    if (single.kind == VerdictKind::kCumulative) return CompleteUpto(single.seq);
    if (single.kind == VerdictKind::kBefore) return CompleteUpto(single.seq - 1);
    if (progress_.settled.Get(place) || progress_.failed.Get(place)) return;
    if (single.kind == VerdictKind::kRetry) {
      read_.handed_back = true;
    } else if (!read_.dead.Get(place) && !read_.failed.Get(place)) {
      Fail(single, place);
    }
  }

  Singles Take() {
    std::sort(read_.letters.begin(), read_.letters.end(),
              [](const DeadLetter& a, const DeadLetter& b) { return a.seq < b.seq; });
    return std::move(read_);
  }

 private:
  void CompleteUpto(int64_t seq) { read_.completed_upto = std::max(read_.completed_upto, seq); }

  void Fail(const SingleVerdict& single, int64_t place) {
    if (QUEEN_PLANTED(kNackLost)) return read_.dead.Set(place);
    const auto known = read_.failures.find(single.seq);
    const int32_t before = known == read_.failures.end() ? 0 : known->second;
    const bool counts = single.kind == VerdictKind::kFailed;
    const int32_t failures = before + (counts ? 1 : 0);
    if (!counts || before >= retry_limit_) {
      read_.dead.Set(place);
      read_.letters.push_back({single.seq, std::string(single.error), failures});
      read_.failures.erase(single.seq);
    } else {
      read_.failed.Set(place);
      read_.failures[single.seq] = failures;
      read_.any_failed = true;
    }
  }

  const Progress& progress_;
  const int32_t retry_limit_;
  Singles read_;
};

// What is completed, from the cursor on, no further than the lease reaches. Clients name the
// messages: a base far behind the lease must cost nothing.
Bitmap CompletedFrom(const Progress& progress, const Verdicts& verdicts, int64_t completed_upto) {
  const int64_t span = progress.lease->end - progress.cursor;
  const int64_t ahead = verdicts.base - progress.cursor;
  Bitmap done;
  if (ahead < 0) {
    done = verdicts.done.From(-ahead).Cut(span);
  } else if (ahead < span) {
    done = verdicts.done.Cut(span - ahead).Shifted(ahead);
  }
  done.SetRange(0, completed_upto - progress.cursor + 1);
  return done;
}

int32_t DeliveriesAfter(const Progress& before, const Progress& next, const Bitmap& failed,
                        LeaseAfter lease_after, bool released) {
  if (failed.Get(0)) return 0;  // the head has a verdict
  if (lease_after == LeaseAfter::kKeptOnPurpose && !released) return 0;
  if (next.cursor == before.cursor) return std::max(before.deliveries - (released ? 1 : 0), 0);
  return released ? 0 : 1;
}

}  // namespace

VerdictOutcome ApplyVerdicts(const Progress& progress, const QueueRules& rules,
                             const Verdicts& verdicts) {
  SinglesReader reader(progress, rules.retry_limit);
  for (const SingleVerdict& single : verdicts.singles) reader.Read(single);
  Singles singles = reader.Take();

  Bitmap failed = progress.failed;
  failed |= singles.failed;
  Bitmap done = CompletedFrom(progress, verdicts, singles.completed_upto);
  done -= failed;  // what failed in this lease is not completed under it
  Bitmap settled = progress.settled;
  settled |= singles.dead;
  settled |= done;

  VerdictOutcome outcome;
  Progress& next = outcome.next;
  const int64_t moved = settled.Leading();
  next.epoch = progress.epoch + 1;
  next.cursor = progress.cursor + moved;
  next.settled = settled.From(moved);
  failed = failed.From(moved);
  next.ready_at_micros = progress.ready_at_micros;
  next.window_end = progress.window_end;
  for (const auto& [seq, failures] : singles.failures) {
    if (seq >= next.cursor && !next.settled.Get(seq - next.cursor))
      next.attempts.push_back({seq, failures});
  }

  const int64_t left = progress.lease->end - next.cursor;
  Bitmap judged = next.settled;
  judged |= failed;
  outcome.released = verdicts.lease_after == LeaseAfter::kEnds || singles.handed_back ||
                     left <= 0 || judged.Count(0, left) == left;
  if (!outcome.released) {
    next.failed = failed;
    next.lease = progress.lease;
  }
  next.deliveries = DeliveriesAfter(progress, next, failed, verdicts.lease_after, outcome.released);
  if (singles.any_failed && rules.retry_delay_ms > 0) outcome.ready_in_ms = rules.retry_delay_ms;
  outcome.dead = std::move(singles.letters);
  return outcome;
}

}  // namespace queen::engine
