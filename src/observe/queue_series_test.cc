#include "observe/queue_series.h"

#include <gtest/gtest.h>

#include "metrics/prometheus.h"

namespace queen::observe {
namespace {

state::QueueActivityEntry Pushed(std::string queue, int64_t messages) {
  return {std::move(queue), {.pushed = messages}};
}

class QueueSeriesTest : public ::testing::Test {
 protected:
  // -1: there is no such series.
  double Pushes(const std::string& queue) const {
    const std::string text = metrics::RenderPrometheus(registry_);
    const std::string line =
        "queen_queue_messages_total{queue=\"" + queue + "\",event=\"pushed\"} ";
    const size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
  }

  metrics::Registry registry_{2};
  QueueSeries series_{registry_, 2};
};

TEST_F(QueueSeriesTest, AddsUpTheWorkers) {
  series_.Publish(0, {Pushed("a", 3), Pushed("b", 1)});
  series_.Publish(1, {Pushed("a", 4)});
  EXPECT_EQ(Pushes("a"), -1);
  series_.Merge();
  EXPECT_EQ(Pushes("a"), 7);
  EXPECT_EQ(Pushes("b"), 1);
  EXPECT_EQ(Pushes("_other"), -1);
  series_.Publish(1, {Pushed("a", 5)});
  series_.Merge();
  EXPECT_EQ(Pushes("a"), 8);
  EXPECT_EQ(series_.All().pushed, 9);
}

TEST_F(QueueSeriesTest, WhoIsNotShownCountsAmongTheOthers) {
  series_.Publish(0, {Pushed("a", 100), Pushed("b", 100)});
  series_.Merge();
  series_.Publish(0, {Pushed("a", 200), Pushed("b", 200), Pushed("c", 5), Pushed("", 7)});
  series_.Merge();
  EXPECT_EQ(Pushes("c"), -1);
  EXPECT_EQ(Pushes("_other"), 12);
  EXPECT_EQ(series_.All().pushed, 412);
}

TEST_F(QueueSeriesTest, ABusierQueueTakesAPlaceAndNoCounterFalls) {
  series_.Publish(0, {Pushed("a", 100), Pushed("b", 10)});
  series_.Merge();
  int64_t c = 0;
  double others = 0;
  for (int round = 0; round < 20; ++round) {
    c += 50;
    series_.Publish(0, {Pushed("a", 100 + round), Pushed("b", 10), Pushed("c", c)});
    series_.Merge();
    EXPECT_GE(Pushes("_other"), others) << round;
    others = std::max(others, Pushes("_other"));
  }
  EXPECT_EQ(Pushes("c"), 1'000);
  EXPECT_EQ(Pushes("b"), -1);
  EXPECT_EQ(series_.Shown().size(), 2U);
}

}  // namespace
}  // namespace queen::observe
