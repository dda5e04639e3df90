// Paced load, for e2e and soak: pushes at fixed moments, whether or not the broker keeps up, and
// consumers that wait for messages. Latencies count from the moment a push was due.
#pragma once

#include "bench/report.h"
#include "bench/resources.h"
#include "bench/run.h"

namespace queen::bench {

// Measures for the seconds of the options, then drains what is left and checks it.
void RunPaced(Run& run, Resources& resources, Report& report);

}  // namespace queen::bench
