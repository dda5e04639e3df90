#include "storage/minute_reports.h"

namespace queen::storage {
namespace {

using namespace pg::oid;  // NOLINT(google-build-using-namespace): the tables below are made of them

}  // namespace

const pg::Statement kReportStatus{"report_status",
                                  "SELECT queen.report_status($1, $2, $3, $4, $5, $6)::text",
                                  {kTimestampTz, kTimestampTz, kInt4, kText, kText, kText}};

const pg::Statement kReportAnalytics{"report_analytics",
                                     "SELECT queen.report_analytics($1, $2, $3, $4, $5, $6)::text",
                                     {kTimestampTz, kTimestampTz, kInt4, kText, kText, kText}};

const pg::Statement kReportStatusQueues{
    "report_status_queues",
    "SELECT queen.report_status_queues($1, $2, $3, $4, $5)::text",
    {kText, kText, kText, kInt4, kInt4}};

const pg::Statement kReportStatusQueue{"report_status_queue",
                                       "SELECT queen.report_status_queue($1, $2, $3)::text",
                                       {kText, kInt4, kInt4}};

const pg::Statement kReportSystemMetrics{
    "report_system_metrics",
    "SELECT queen.report_system_metrics($1, $2, $3, $4, $5)::text",
    {kTimestampTz, kTimestampTz, kInt4, kText, kInt4}};

const pg::Statement kReportWorkerMetrics{
    "report_worker_metrics",
    "SELECT queen.report_worker_metrics($1, $2, $3, $4, $5)::text",
    {kTimestampTz, kTimestampTz, kInt4, kText, kInt4}};

const pg::Statement kReportQueueLag{
    "report_queue_lag",
    "SELECT queen.report_queue_lag($1, $2, $3, $4, $5, $6, $7, $8)::text",
    {kTimestampTz, kTimestampTz, kInt4, kText, kText, kText, kInt4, kInt4}};

const pg::Statement kReportQueueOps{
    "report_queue_ops",
    "SELECT queen.report_queue_ops($1, $2, $3, $4, $5, $6, $7, $8)::text",
    {kTimestampTz, kTimestampTz, kInt4, kText, kText, kText, kInt4, kInt4}};

const pg::Statement kReportParkedReplicas{
    "report_parked_replicas",
    "SELECT queen.report_parked_replicas($1, $2, $3, $4, $5, $6, $7, $8)::text",
    {kTimestampTz, kTimestampTz, kInt4, kText, kText, kText, kInt4, kInt4}};

const pg::Statement kReportRetention{"report_retention",
                                     "SELECT queen.report_retention($1, $2, $3, $4)::text",
                                     {kTimestampTz, kTimestampTz, kInt4, kText}};

const pg::Statement kReportPostgresStats{
    "report_postgres_stats", "SELECT queen.report_postgres_stats()::text", {}};

}  // namespace queen::storage
