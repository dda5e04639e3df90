// What is printed: units, tables, the progress bar, and the counters behind `queen top`.
#include <gtest/gtest.h>

#include "cli/progress_bar.h"
#include "cli/queue_counters.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

TEST(Units, CountsAndBytes) {
  EXPECT_EQ(ShowCount(0), "0");
  EXPECT_EQ(ShowCount(999), "999");
  EXPECT_EQ(ShowCount(1'234'567), "1,234,567");
  EXPECT_EQ(ShowCount(-1'234), "-1,234");
  EXPECT_EQ(ShowCount(1, "message", "messages"), "1 message");
  EXPECT_EQ(ShowCount(0, "message", "messages"), "0 messages");
  EXPECT_EQ(ShowCount(2'000, "message", "messages"), "2,000 messages");
  EXPECT_EQ(ShowBytes(1'023), "1023 B");
  EXPECT_EQ(ShowBytes(1'536), "1.5 KiB");
  EXPECT_EQ(ShowBytes(int64_t{200} << 30), "200 GiB");
}

TEST(Units, Times) {
  EXPECT_EQ(ShowSeconds(0), "0 s");
  EXPECT_EQ(ShowSeconds(0.25), "250 ms");
  EXPECT_EQ(ShowSeconds(59), "59 s");
  EXPECT_EQ(ShowSeconds(200), "3 m 20 s");
  EXPECT_EQ(ShowSeconds(7'320), "2 h 2 m");
  EXPECT_EQ(ShowSeconds(90'000), "1 d 1 h");
  EXPECT_EQ(ShowRate(0.31), "0.3/s");
  EXPECT_EQ(ShowRate(3'400), "3,400/s");
  EXPECT_EQ(ShowTime("2026-11-16T07:00:01.123456Z"), "2026-11-16 07:00:01");
  EXPECT_EQ(ShowTime("never"), "never");
  EXPECT_DOUBLE_EQ(SecondsOf("1970-01-02T00:00:01.5Z"), 86'401.5);
  EXPECT_LT(SecondsOf("yesterday"), 0);
}

TEST(Units, WhatATerminalWouldActOnIsNotPrinted) {
  EXPECT_EQ(Printable("a\033[2Jb\r\n"), "a?[2Jb??");
  EXPECT_EQ(Printable("a\xC2\x9B"
                      "b"),
            "a?b");  // U+009B begins a sequence as ESC [ does
  EXPECT_EQ(Printable("grün"), "grün");
}

TEST(Units, WidthIsInCharacters) {
  EXPECT_EQ(WidthOf("grün"), 4U);
  EXPECT_EQ(CutTo("grün", 4), "grün");
  EXPECT_EQ(CutTo("grünes", 4), "grü…");
}

TEST(Table, AlignsAndHasNoColoursWithoutATerminal) {
  std::FILE* const file = std::tmpfile();
  const Terminal nowhere(file, true);
  Table table({{"NAME"}, {"COUNT", true}, {"TEXT"}});
  table.Add({"a", Cell("1", Colour::kRed), "x"});
  table.Add({"grün", "1,000", "a long text"});
  EXPECT_EQ(table.Show(nowhere),
            "NAME  COUNT  TEXT\n"
            "a         1  x\n"
            "grün  1,000  a long text\n");
  EXPECT_EQ(table.Show(nowhere, 1), "NAME  COUNT  TEXT\na         1  x\n");
  EXPECT_EQ(ShowPairs(nowhere, {{"A", "1"}, {"Longer", "2"}}), "A       1\nLonger  2\n");
  std::fclose(file);
}

TEST(Progress, ShowsPartCountsRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine("redrive", 500, 2'000, 5, 200),
            "redrive  [######..................]  25 %  500 of 2,000  100/s  15 s left");
  EXPECT_EQ(ProgressLine("redrive", 2'000, 2'000, 5, 200),
            "redrive  [########################] 100 %  2,000 of 2,000  400/s");
  EXPECT_EQ(ProgressLine("push", 300, 0, 3, 200), "push  300  100/s");
  EXPECT_EQ(WidthOf(ProgressLine("redrive", 1, 2'000, 5, 30)), 30U);
}

TEST(QueueCounters, AreAddedOverBrokers) {
  QueueCounters counters;
  const std::string page =
      "# TYPE queen_queue_messages_total counter\n"
      "queen_queue_messages_total{queue=\"a \\\"b\\\"\",event=\"pushed\"} 7\n"
      "queen_queue_messages_total{event=\"delivered\",queue=\"a \\\"b\\\"\"} 5\n"
      "queen_queue_messages_total{queue=\"a \\\"b\\\"\",event=\"acked\"} 3\n"
      "queen_queue_messages_total{queue=\"a \\\"b\\\"\",event=\"failed\"} 1\n"
      "queen_other_total{queue=\"c\"} 1\nqueen_queue_messages_total{broken";
  AddQueueCounters(page, counters);
  AddQueueCounters(page, counters);
  ASSERT_EQ(counters.size(), 1U);
  const QueueCounter& counter = counters.at("a \"b\"");
  EXPECT_EQ(counter.pushed, 14);
  EXPECT_EQ(counter.delivered, 10);
  EXPECT_EQ(counter.settled, 8);
}

}  // namespace
}  // namespace queen::cli
