// Verdicts: what acks come to under a lease, and the state behind them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/lane.h"
#include "engine/lease_rule.h"

namespace queen::engine {

enum class VerdictKind {
  kFailed,      // counts as a failure: delivered again, or dead when it has failed too often
  kDeadLetter,  // to the dead letters at once
  kRetry,       // this message and what follows it are handed back uncounted; the lease ends
  kCumulative,  // everything delivered up to this message is completed
  kBefore,      // everything before it is
};

// A verdict that is not plainly `completed`.
struct SingleVerdict {
  int64_t seq = 0;
  VerdictKind kind = VerdictKind::kFailed;
  std::string_view error;  // of a failure; its text outlives the verdict
};

// What becomes of the lease if the verdicts leave something of it open.
enum class LeaseAfter {
  kStays,
  kEnds,           // whatever is left unsettled
  kKeptOnPurpose,  // it stays, and what it still holds is no delivery that nobody survived
};

// The verdicts of any number of callers on one lane, in the order they were given.
struct Verdicts {
  int64_t base = 0;
  Bitmap done;  // completed, from `base` on
  std::vector<SingleVerdict> singles;
  LeaseAfter lease_after = LeaseAfter::kStays;
};

struct VerdictOutcome {
  Progress next;
  bool released = false;               // the lease has ended
  std::optional<int64_t> ready_in_ms;  // ready_at of `next` is at least so long after the append
  std::vector<DeadLetter> dead;
};

// REQUIRES: progress.lease
// A verdict on a message that is not under the lease is ignored, and so is one on a message that
// has its verdict, but for what kCumulative and kBefore say of the messages before it. Of kFailed
// and kDeadLetter on one message the first counts, and both win over completed.
VerdictOutcome ApplyVerdicts(const Progress& progress, const QueueRules& rules,
                             const Verdicts& verdicts);

}  // namespace queen::engine
