// Answers to calls of many items, of which some met trouble: PostgreSQL is away, a limit is
// reached, the outcome is unknown.
//   push  each such item says so by itself, so that nobody repeats what is stored; but a call of
//         which nothing was stored is an error as a whole, which clients repeat
//   ack   an error as a whole: `success:false` means that a verdict was refused, and clients do not
//         repeat that; acking again what was settled is harmless
// On the loop that answers; refuses nothing.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sidecar/requests.h"

namespace queen::sidecar {

// Whether the call of which this is an item must not be repeated.
inline bool IsFinal(const PushOutcome& outcome) {
  return outcome.status != PushOutcome::Status::kFailed;
}
inline bool IsFinal(const AckOutcome& /*outcome*/) { return false; }

inline void SetTrouble(PushOutcome& outcome, const Status& trouble) {
  outcome = {PushOutcome::Status::kFailed, {}, trouble.message()};
}
inline void SetTrouble(AckOutcome& outcome, const Status& trouble) {
  outcome.success = false;
  outcome.error = trouble.message();
}

// Every item has its outcome; `trouble` is ok when none met any.
template <typename Request, typename Outcome>
void AnswerCall(Request& request, std::vector<Outcome> outcomes, const Status& trouble) {
  const bool any = std::any_of(outcomes.begin(), outcomes.end(),
                               [](const Outcome& outcome) { return IsFinal(outcome); });
  if (trouble.ok() || any) {
    request.done(request, std::move(outcomes));
  } else {
    request.done(request, trouble);
  }
}

// A call whose items have several owners: answered when the last of them has answered its part.
template <typename Request, typename Outcome>
struct Gathered {
  Request request;
  std::vector<Outcome> outcomes;
  size_t parts_open = 0;
  Status trouble;

  // The outcomes of the items at `places`, in that order, or why there are none.
  void TakePart(const std::vector<size_t>& places, Result<std::vector<Outcome>> result) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (result.ok()) {
        outcomes[places[i]] = std::move((*result)[i]);
      } else {
        SetTrouble(outcomes[places[i]], result.status());
      }
    }
    if (!result.ok()) trouble = result.status();
    if (--parts_open == 0) AnswerCall(request, std::exchange(outcomes, {}), trouble);
  }
};

}  // namespace queen::sidecar
