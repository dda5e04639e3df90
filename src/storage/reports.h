// The questions of administration that SQL answers with one JSON document: the names and shapes of
// the reply's fields stand in the procedure (sql/procedures/report_*.sql) and nowhere else. Each
// gives one row with one text column, NULL where what it is about does not exist.
#pragma once

#include "pg/statement.h"

namespace queen::storage {

// ---- numbers of queues and groups; a limit that is NULL: everything

// ->
extern const pg::Statement kReportStats;
extern const pg::Statement kReportOverview;
// namespace, task (each may be NULL), limit, offset
extern const pg::Statement kReportQueues;
// queue, limit, offset
extern const pg::Statement kReportQueue;
// queue, probes
extern const pg::Statement kReportDepth;
// limit, offset
extern const pg::Statement kReportNamespaces;
extern const pg::Statement kReportTasks;
// queue or NULL, by lag, limit, offset
extern const pg::Statement kReportPartitions;
// limit, offset
extern const pg::Statement kReportGroups;
// group, limit, offset
extern const pg::Statement kReportGroup;
// seconds, limit, offset
extern const pg::Statement kReportLagging;

// ---- messages and lanes

// queue, partition, namespace, task, status, from, to (each may be NULL), limit, offset
extern const pg::Statement kReportMessages;
// queue, partition, group
extern const pg::Statement kReportLane;

// actor, action, queue, from, to, before (each may be NULL), limit
extern const pg::Statement kReportAudit;

// ---- streaming queries

// limit, offset
extern const pg::Statement kReportStreams;
// the id as text
extern const pg::Statement kReportStream;

// the broker's disks, as JSON
extern const pg::Statement kReportEnvironment;

}  // namespace queen::storage
