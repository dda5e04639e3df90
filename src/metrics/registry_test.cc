#include "metrics/registry.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "metrics/prometheus.h"

namespace queen::metrics {
namespace {

TEST(Registry, SumsWhatEachWriterCounted) {
  Registry registry(3);
  Counters& pushes = registry.AddCounter("queen_push_total", "Pushes.");
  for (size_t writer = 0; writer < 3; ++writer) {
    pushes.of(writer).Add(writer + 1);
  }
  EXPECT_EQ(Total(pushes), 6u);
}

TEST(Registry, InstancesShareNoCacheLine) {
  Counters counters(2);
  const auto distance =
      reinterpret_cast<uintptr_t>(&counters.of(1)) - reinterpret_cast<uintptr_t>(&counters.of(0));
  EXPECT_GE(distance, kCacheLineBytes);
}

TEST(Registry, ReferencesSurviveMoreSeries) {
  Registry registry(1);
  Counters& first = registry.AddCounter("queen_requests_total", "Requests.", {{"route", "0"}});
  for (size_t i = 1; i < kSeriesPerFamilyMax; ++i) {
    registry.AddCounter("queen_requests_total", "Requests.", {{"route", std::to_string(i)}});
  }
  first.of(0).Add(5);
  EXPECT_NE(RenderPrometheus(registry).find("queen_requests_total{route=\"0\"} 5\n"),
            std::string::npos);
}

TEST(Registry, WritersAreReadWhileTheyWrite) {
  constexpr size_t kWriters = 4;
  constexpr uint64_t kPerWriter = 50'000;
  Registry registry(kWriters);
  Counters& counters = registry.AddCounter("queen_messages_total", "Messages.");
  Histograms& histograms = registry.AddHistogram("queen_wait_seconds", "Waits.", kMicrosAsSeconds);
  std::atomic<size_t> done{0};
  std::vector<std::thread> threads;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint64_t i = 0; i < kPerWriter; ++i) {
        counters.of(writer).Add();
        histograms.of(writer).Record(i);
      }
      ++done;
    });
  }
  int added = 0;
  while (done < kWriters) {
    EXPECT_FALSE(RenderPrometheus(registry).empty());
    if (added < 20)
      registry.AddCounter("queen_late_total", "Late.", {{"n", std::to_string(added++)}});
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Total(counters), kWriters * kPerWriter);
  EXPECT_EQ(HistogramSnapshot(histograms).count(), kWriters * kPerWriter);
}

TEST(Registry, CollectsSeriesWhenItIsRead) {
  Registry registry(1);
  CounterGrid grid(2, 3);
  registry.AddCollected(Kind::kCounter, "queen_cells_total", "Cells.", [&grid](const Emit& emit) {
    for (size_t row = 0; row < 2; ++row) {
      const auto value = static_cast<double>(grid.value(row, 2));
      if (value > 0) emit({{"row", std::to_string(row)}}, value);
    }
  });
  const std::string head = "# HELP queen_cells_total Cells.\n# TYPE queen_cells_total counter\n";
  EXPECT_EQ(RenderPrometheus(registry), head);
  grid.Add(1, 2);
  grid.Add(1, 2, 4);
  grid.Add(0, 1);
  EXPECT_EQ(RenderPrometheus(registry), head + "queen_cells_total{row=\"1\"} 5\n");
}

TEST(RegistryDeathTest, RefusesNamesAndLabelsThatBreakTheRules) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Registry registry(1);
  registry.AddCounter("queen_a_total", "A.", {{"x", "1"}});
  EXPECT_DEATH(registry.AddCounter("queen_a_total", "A.", {{"x", "1"}}), "");
  EXPECT_DEATH(registry.AddCounter("queen_a_total", "Another help.", {{"x", "2"}}), "");
  EXPECT_DEATH(registry.AddCounter("a_total", "No prefix."), "");
  EXPECT_DEATH(registry.AddCounter("queen_a", "A counter without _total."), "");
  EXPECT_DEATH(registry.AddComputed(Kind::kGauge, "queen_a_total", "A gauge.", [] { return 1.0; }),
               "");
  EXPECT_DEATH(registry.AddCounter("queen_a b_total", "A space."), "");
  EXPECT_DEATH(registry.AddCounter("queen_b_total", "Reserved label.", {{"le", "1"}}), "");
  EXPECT_DEATH(registry.AddCounter("queen_b_total", "Too many.",
                                   Labels(kLabelsPerSeriesMax + 1, {"a", "b"})),
               "");
}

}  // namespace
}  // namespace queen::metrics
