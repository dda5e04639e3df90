// What this broker has come to, for the minutes in PostgreSQL (admin/metrics_flush.h): asks every
// worker's loop and adds up.
#pragma once

#include "admin/metrics_flush.h"

namespace queen::server {

struct Shared;

// Any thread; `done` runs on `here` when every worker has answered. Both outlive that.
void GatherBrokerSample(const Shared& shared, Loop& here,
                        UniqueFunction<void(const admin::BrokerSample&)> done);

}  // namespace queen::server
