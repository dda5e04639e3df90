// Defaults that depend on the machine or on other settings: each sets its member of the Config, in
// the order of the table of settings.
#pragma once

#include "config/config.h"
#include "config/setting.h"

namespace queen::config {

void ComputeWorkers(Config& config, const Environment& environment);
void ComputeSidecarPool(Config& config, const Environment& environment);
void ComputeInFlightDeadline(Config& config, const Environment& environment);
void ComputeSslMode(Config& config, const Environment& environment);
void ComputeDataDir(Config& config, const Environment& environment);
void ComputeBufferDirectory(Config& config, const Environment& environment);
void ComputeBufferReserve(Config& config, const Environment& environment);
void ComputeServiceName(Config& config, const Environment& environment);
void ComputeRequestBytes(Config& config, const Environment& environment);

}  // namespace queen::config
