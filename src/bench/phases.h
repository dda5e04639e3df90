// Phases that several scenarios go through, with the options of the run.
#pragma once

#include "bench/consumers.h"
#include "bench/producers.h"
#include "bench/report.h"
#include "bench/workload.h"

namespace queen::bench {

// What the options say about the connections.
Producers::Shape ProducerShape(const Options& options);
Consumers::Shape ConsumerShape(const Options& options);

// Pushes about `messages` (whole pushes) and waits until all are confirmed. False: it stalled.
bool Fill(Workload& workload, Producers& producers, int64_t messages, int64_t batch);

// Lets running consumers go on until every group has everything, then stops them and looks for
// what came twice. REQUIRES: no push is in flight
void DrainToEnd(Workload& workload, Consumers& consumers);

// Takes the account of the workload over into the report. `drained`: what is missing is lost.
void Settle(const Workload& workload, bool drained, Report& report);

// Deletes the queue, unless the options say to keep it.
void DeleteQueue(Run& run, const std::string& queue);

}  // namespace queen::bench
