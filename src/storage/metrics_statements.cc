#include "storage/metrics_statements.h"

#include "pg/oids.h"

namespace queen::storage {

using pg::oid::kInt4;
using pg::oid::kTextArray;

const pg::Statement kMetricsQueues{
    "metrics_queues",
    "SELECT queue_name, partitions, stored, pending, processing, failed, dead_letters,"
    " oldest_age_seconds FROM queen.metrics_queues($1, $2)",
    {kTextArray, kInt4}};

const pg::Statement kMetricsGroups{
    "metrics_groups",
    "SELECT queue_name, group_name, lag, oldest_age_seconds FROM queen.metrics_groups($1)",
    {kInt4}};

const pg::Statement kMetricsDatabase{
    "metrics_database", "SELECT kind, subject, value FROM queen.metrics_database()", {}};

}  // namespace queen::storage
