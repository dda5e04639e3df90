#include "storage/reports.h"

#include "pg/oids.h"

namespace queen::storage {
namespace {

using namespace pg::oid;  // NOLINT(google-build-using-namespace): the tables below are made of them

}  // namespace

// ---- numbers of queues and groups

const pg::Statement kReportStats{"report_stats", "SELECT queen.report_stats()::text", {}};

const pg::Statement kReportOverview{"report_overview", "SELECT queen.report_overview()::text", {}};

const pg::Statement kReportQueues{"report_queues",
                                  "SELECT queen.report_queues($1, $2, $3, $4)::text",
                                  {kText, kText, kInt4, kInt4}};

const pg::Statement kReportQueue{
    "report_queue", "SELECT queen.report_queue($1, $2, $3)::text", {kText, kInt4, kInt4}};

const pg::Statement kReportDepth{
    "report_depth", "SELECT queen.report_depth($1, $2)::text", {kText, kInt4}};

const pg::Statement kReportNamespaces{
    "report_namespaces", "SELECT queen.report_families('namespace', $1, $2)::text", {kInt4, kInt4}};

const pg::Statement kReportTasks{
    "report_tasks", "SELECT queen.report_families('task', $1, $2)::text", {kInt4, kInt4}};

const pg::Statement kReportPartitions{"report_partitions",
                                      "SELECT queen.report_partitions($1, $2, $3, $4)::text",
                                      {kText, kBool, kInt4, kInt4}};

const pg::Statement kReportGroups{
    "report_groups", "SELECT queen.report_groups($1, $2)::text", {kInt4, kInt4}};

const pg::Statement kReportGroup{
    "report_group", "SELECT queen.report_group($1, $2, $3)::text", {kText, kInt4, kInt4}};

const pg::Statement kReportLagging{
    "report_lagging", "SELECT queen.report_lagging($1, $2, $3)::text", {kInt8, kInt4, kInt4}};

// ---- messages and lanes

const pg::Statement kReportMessages{
    "report_messages",
    "SELECT queen.report_messages($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    {kText, kText, kText, kText, kText, kTimestampTz, kTimestampTz, kInt4, kInt4}};

const pg::Statement kReportLane{
    "report_lane", "SELECT queen.report_lane($1, $2, $3)", {kText, kText, kText}};

const pg::Statement kReportAudit{"report_audit",
                                 "SELECT queen.report_audit($1, $2, $3, $4, $5, $6, $7)::text",
                                 {kText, kText, kText, kTimestampTz, kTimestampTz, kUuid, kInt4}};

const pg::Statement kReportStreams{
    "report_streams", "SELECT queen.report_streams($1, $2)::text", {kInt4, kInt4}};

const pg::Statement kReportStream{"report_stream", "SELECT queen.report_stream($1)::text", {kText}};

const pg::Statement kReportEnvironment{
    "report_environment", "SELECT queen.report_environment($1)::text", {kText}};

}  // namespace queen::storage
