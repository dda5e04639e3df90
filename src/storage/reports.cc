#include "storage/reports.h"

#include "pg/oids.h"

namespace queen::storage {
namespace {

using namespace pg::oid;  // NOLINT(google-build-using-namespace): the tables below are made of them

}  // namespace

const pg::Statement kReportMessages{
    "report_messages",
    "SELECT queen.report_messages($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    {kText, kText, kText, kText, kText, kTimestampTz, kTimestampTz, kInt4, kInt4}};

const pg::Statement kReportLane{
    "report_lane", "SELECT queen.report_lane($1, $2, $3)", {kText, kText, kText}};

}  // namespace queen::storage
