// What metrics ask of the database (sql/procedures/metrics_*.sql), on the connections of
// administration.
#pragma once

#include "pg/statement.h"

namespace queen::storage {

// names, more -> queue_name (NULL: all others), partitions, stored, pending, processing, failed,
// dead_letters, oldest_age_seconds
extern const pg::Statement kMetricsQueues;
// more -> queue_name, group_name (NULL: all others), lag, oldest_age_seconds
extern const pg::Statement kMetricsGroups;
// nothing -> kind, subject ("" = the database), value
extern const pg::Statement kMetricsDatabase;

}  // namespace queen::storage
