// The scenarios, one file each (scenario_<name>.cc). Each runs from its fill to its last check and
// adds what it found to the report. Errors are in run.errors(); a scenario that cannot go on
// returns early.
#pragma once

#include "bench/report.h"
#include "bench/resources.h"
#include "bench/run.h"

namespace queen::bench {

void RunPush(Run& run, Resources& resources, Report& report);
void RunDrain(Run& run, Resources& resources, Report& report);
void RunE2e(Run& run, Resources& resources, Report& report);
void RunPopWave(Run& run, Resources& resources, Report& report);
void RunPartitions(Run& run, Resources& resources, Report& report);
void RunSoak(Run& run, Resources& resources, Report& report);

}  // namespace queen::bench
