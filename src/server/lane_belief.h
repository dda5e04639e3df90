// What this broker believes of one lane, for the explain endpoint: asks the sidecar that owns the
// queue, on its loop, and answers on `here`.
#pragma once

#include "api/explain.h"
#include "loop/loop.h"

namespace queen::server {

struct Shared;

void DescribeLane(const Shared& shared, Loop& here, api::LaneQuestion question, api::LaneDone done);

}  // namespace queen::server
