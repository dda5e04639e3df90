// The questions of administration that SQL answers with one JSON document: the names and shapes of
// the reply's fields stand in the procedure (sql/procedures/report_*.sql) and nowhere else. Each
// gives one row with one text column, NULL where what it is about does not exist.
#pragma once

#include "pg/statement.h"

namespace queen::storage {

// the broker's disks, as JSON
extern const pg::Statement kReportEnvironment;

}  // namespace queen::storage
