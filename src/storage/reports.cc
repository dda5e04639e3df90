#include "storage/reports.h"

#include "pg/oids.h"

namespace queen::storage {

using pg::oid::kText;

const pg::Statement kReportEnvironment{
    "report_environment", "SELECT queen.report_environment($1)::text", {kText}};

}  // namespace queen::storage
