#include "bench/report.h"

#include <gtest/gtest.h>

#include "base/json_reader.h"
#include "bench/numbers.h"

namespace queen::bench {
namespace {

Report Example() {
  Report report;
  report.scenario = "push";
  report.url = "http://h:1";
  report.options = {{"batch", "100"}};
  LatencySummary latency;
  latency.count = 20;
  latency.p50_us = 1'500;
  latency.p99_us = 20'000;
  latency.p999_us = 345'678;
  latency.max_us = 400'000;
  Spent spent;
  spent.broker_cpu_seconds = 0.5;
  spent.wal_bytes = 300'000;
  spent.broker_peak_bytes = uint64_t{64} << 20;
  report.rows.push_back({.name = "push",
                         .seconds = 2,
                         .messages = 2'000,
                         .requests = 20,
                         .latency = latency,
                         .spent = spent});
  report.rows.push_back(
      {.name = "both", .seconds = 2, .latency = std::nullopt, .spent = std::nullopt});
  report.pushed = 2'000;
  report.received = 2'000;
  return report;
}

TEST(NumbersTest, ForPeople) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1'000), "1,000");
  EXPECT_EQ(WithCommas(1'234'567), "1,234,567");
  EXPECT_EQ(Short(0.12345), "0.123");
  EXPECT_EQ(Short(0.9996), "1.00");
  EXPECT_EQ(Short(9.996), "10.0");
  EXPECT_EQ(Short(99.96), "100");
  EXPECT_EQ(Short(12'345.6), "12,346");
  EXPECT_EQ(Millis(1'500), "1.50");
}

TEST(ReportTableTest, AColumnIsAsWideAsItsWidestCellAndUnknownIsADash) {
  EXPECT_EQ(ReportTable(Example()),
            "push  msg/s  requests/s  p50 ms  p99 ms  p99.9 ms  max ms  broker s/M  postgres s/M  "
            "RSS MiB  WAL B/msg\n"
            "push  1,000          10    1.50    20.0       346     400         250             -  "
            "     64        150\n"
            "both      -           -       -       -         -       -\n"
            "\n"
            "pushed 2,000, received 2,000: lost 0, duplicated 0, reordered 0, unexpected 0; "
            "errors 0\n");
}

TEST(ReportTableTest, WhatWentWrongIsToldAtTheEnd) {
  Report report = Example();
  EXPECT_TRUE(report.ok());
  report.verified = false;
  report.errors.Add("push: 503", 1'200);
  for (size_t i = 0; i < Errors::kKindsMax; ++i) report.errors.Add("kind " + std::to_string(i));
  EXPECT_FALSE(report.ok());
  const std::string table = ReportTable(report);
  EXPECT_NE(table.find("received 2,000 (not verified): lost 0"), std::string::npos);
  EXPECT_NE(table.find("errors 1,208\n  1,200 x push: 503\n"), std::string::npos);
  EXPECT_NE(table.find("  1 x others\n"), std::string::npos);
}

TEST(ReportTableTest, AGeneratorThatIsTheBottleneckIsToldOf) {
  Report report = Example();
  EXPECT_EQ(ReportTable(report).find("warning"), std::string::npos);
  report.rows[0].spent->generator_cpu_seconds = 1.9;
  EXPECT_NE(ReportTable(report).find("warning: push: the load generator used 95 % of a processor"),
            std::string::npos);
}

TEST(ReportTest, AnyFaultMakesItNotOk) {
  for (uint64_t Verdict::*fault :
       {&Verdict::lost, &Verdict::duplicated, &Verdict::reordered, &Verdict::unexpected}) {
    Report report = Example();
    report.verdict.*fault = 1;
    EXPECT_FALSE(report.ok());
  }
}

TEST(ReportJsonTest, FiguresAreThereAndUnknownOnesNull) {
  Report report = Example();
  report.series.resize(2);
  report.verdict.lost = 3;
  report.errors.Add("a \"text\"", 2);
  const std::string json = ReportJson(report);
  const auto parsed = ParseJson(json);
  ASSERT_TRUE(parsed.ok()) << json;
  EXPECT_EQ(parsed->Find("ok").raw(), "false");
  EXPECT_EQ(parsed->Find("options").Find("batch").raw(), "100");
  EXPECT_EQ(parsed->Find("check").Find("lost").raw(), "3");
  EXPECT_EQ(parsed->Find("errors").Find("count").raw(), "2");
  JsonReader rows(parsed->Find("rows").raw());
  ASSERT_TRUE(rows.EnterArray() && rows.NextElement());
  const JsonValue row = rows.Value();
  EXPECT_EQ(row.Find("messages_per_second").raw(), "1000");
  EXPECT_EQ(row.Find("latency_us").Find("p999").raw(), "345678");
  EXPECT_EQ(row.Find("spent").Find("broker_cpu_seconds_per_million").raw(), "250");
  EXPECT_EQ(row.Find("spent").Find("postgres_cpu_seconds").raw(), "null");
  EXPECT_EQ(row.Find("spent").Find("wal_bytes_per_message").raw(), "150");
  ASSERT_TRUE(rows.NextElement());
  EXPECT_EQ(rows.Value().Find("spent").raw(), "null");
}

}  // namespace
}  // namespace queen::bench
