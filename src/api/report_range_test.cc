#include "api/report_range.h"

#include <gtest/gtest.h>

#include "api/status.h"

namespace queen::api {
namespace {

TEST(ReportRange, IntervalsInWordsAndNumbers) {
  EXPECT_EQ(ParseInterval("minute"), 1);
  EXPECT_EQ(ParseInterval("hour"), 60);
  EXPECT_EQ(ParseInterval("day"), 1440);
  EXPECT_EQ(ParseInterval("5"), 5);
  EXPECT_EQ(ParseInterval("5m"), 5);
  EXPECT_EQ(ParseInterval("2h"), 120);
  EXPECT_EQ(ParseInterval("1d"), 1440);
  for (const char* bad : {"", "0", "-1", "week", "5s", "5mm", "1.5h", "m", "99999999999"}) {
    EXPECT_EQ(ParseInterval(bad), std::nullopt) << bad;
  }
}

TEST(ReportRange, NothingGivenIsLeftToSql) {
  const Result<ReportRange> range = ParseReportRange(*http::Query::Parse("from=&interval="));
  ASSERT_TRUE(range.ok());
  EXPECT_FALSE(range->from_micros || range->to_micros || range->minutes);
}

TEST(ReportRange, RefusesWhatItCannotRead) {
  for (const char* bad : {"from=x", "to=x", "interval=week", "from=2026-01-02&to=2026-01-01"}) {
    EXPECT_FALSE(ParseReportRange(*http::Query::Parse(bad)).ok()) << bad;
  }
  EXPECT_TRUE(ParseReportRange(*http::Query::Parse("from=2026-01-01&to=2026-01-01")).ok());
}

TEST(Status, BuffersOfThisBroker) {
  MaintenanceStatus status;
  status.buffered_messages = 3;
  status.failed_messages = 1;
  status.failed_files = 2;
  status.failed_bytes = 10;
  status.database_up = true;
  status.buffer_healthy = true;
  EXPECT_EQ(WriteBuffers(status),
            R"({"pending":3,"failed":1,"dbHealthy":true,"bufferHealthy":true,)"
            R"("failedFiles":{"count":2,"totalBytes":10}})");
}

}  // namespace
}  // namespace queen::api
