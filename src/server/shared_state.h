// What this broker knows of itself and of the others, as JSON:
//
//   SummarizeSharedState   the `shared_state` of /health; asks nobody
//   DescribeSharedState    all of /api/v1/system/shared-state; asks every sidecar on its own loop
#pragma once

#include <string>

#include "api/shared_state.h"
#include "loop/loop.h"

namespace queen::server {

struct Shared;

std::string SummarizeSharedState(const Shared& shared);

// `done` runs later, on `here`.
void DescribeSharedState(const Shared& shared, Loop& here, api::SharedStateDone done);

}  // namespace queen::server
