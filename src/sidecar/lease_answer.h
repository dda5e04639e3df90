// What a lease call says of one of its candidates: first as it was decided from the lane, then as
// the append came out.
#pragma once

#include <cstdint>
#include <string>

#include "engine/lease_rule.h"
#include "storage/calls/append_lanes.h"

namespace queen::sidecar {

struct LeaseAnswer {
  enum class State {
    kLeased,  // deliver what the outcome says
    kNotNow,  // ask again at `until_ms`
    kEmpty,   // nothing is there
    kGone,    // no such partition, queue or group
    kFull,    // nothing more fits into the pop
    kLarge,   // the first segment alone does not
    kBusy,    // ask again after a pause: somebody else is changing the lane
    kAgain,  // ask again at once: another caller was faster, or the first message was dead-lettered
  };
  State state = State::kAgain;
  int64_t until_ms = 0;  // on this process's clock; kLeased: when the lease ends
  std::string partition_name;
};

// PostgreSQL has read its clock after `sent_ms`: times count from there, so that none is late.
LeaseAnswer AnswerOf(const engine::LeaseOutcome& outcome, int64_t now_micros, int64_t sent_ms);

// What the append says of a row that was decided.
LeaseAnswer AfterAppend(LeaseAnswer answer, const engine::LeaseOutcome& outcome,
                        const storage::append_lanes::Row& appended, int64_t sent_ms);

// Whether the lease gives less than was asked for, and there may be more than the log lists.
bool IsShort(const engine::LeaseOutcome& outcome, const engine::LogView& log,
             const engine::LeaseRequest& request);

}  // namespace queen::sidecar
