// The questions about what was done when, and about PostgreSQL itself (reports.h says how such
// questions are answered). Times and widths may be NULL: the procedure then chooses.
#pragma once

#include "pg/statement.h"

namespace queen::storage {

// from, to, minutes, queue, namespace, task
extern const pg::Statement kReportStatus;
extern const pg::Statement kReportAnalytics;
// queue, namespace, task, limit, offset
extern const pg::Statement kReportStatusQueues;
// queue, limit, offset
extern const pg::Statement kReportStatusQueue;
// from, to, minutes, hostname, port
extern const pg::Statement kReportSystemMetrics;
extern const pg::Statement kReportWorkerMetrics;
// from, to, minutes, queue, namespace, task, limit, offset
extern const pg::Statement kReportQueueLag;
extern const pg::Statement kReportQueueOps;
extern const pg::Statement kReportParkedReplicas;
// from, to, minutes, queue
extern const pg::Statement kReportRetention;
//
extern const pg::Statement kReportPostgresStats;

}  // namespace queen::storage
