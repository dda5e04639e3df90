// File descriptors: the process may open as many as its hard limit allows, and clients get what the
// broker does not need itself, so that they can never keep it from PostgreSQL or from its files.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace queen::server {

// How many descriptors the broker keeps for itself.
int64_t DescriptorReserve(const config::Config& config);

// The connections that fit beside the reserve into `descriptors`: at most connections_max, at least
// one.
int ConnectionsThatFit(const config::Config& config, int64_t descriptors);

// Raises the soft limit of the process to its hard one and lowers config.http.connections_max to
// what fits; says so in the log if it does not fit.
void FitConnectionsToDescriptors(config::Config& config);

}  // namespace queen::server
