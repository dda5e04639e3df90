#include "metrics/prometheus.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace queen::metrics {
namespace {

TEST(Prometheus, WritesEveryKind) {
  Registry registry(2);
  registry.AddCounter("queen_push_total", "Pushes.", {{"result", "queued"}}).of(0).Add(3);
  registry.AddCounter("queen_push_total", "Pushes.", {{"result", "failed"}, {"why", "x"}});
  registry.AddComputed(Kind::kGauge, "queen_connections", "Open connections.", [] { return -2.0; });
  Histograms& batch = registry.AddHistogram("queen_batch_items", "Items per batch.", {1, 0, 3});
  for (const uint64_t items : {0u, 1u, 2u, 4u, 8u, 9u}) batch.of(items % 2).Record(items);
  registry.AddComputed(Kind::kGauge, "queen_load", "Load.", [] { return 0.25; });
  EXPECT_EQ(RenderPrometheus(registry),
            "# HELP queen_push_total Pushes.\n"
            "# TYPE queen_push_total counter\n"
            "queen_push_total{result=\"queued\"} 3\n"
            "queen_push_total{result=\"failed\",why=\"x\"} 0\n"
            "# HELP queen_connections Open connections.\n"
            "# TYPE queen_connections gauge\n"
            "queen_connections -2\n"
            "# HELP queen_batch_items Items per batch.\n"
            "# TYPE queen_batch_items histogram\n"
            "queen_batch_items_bucket{le=\"1\"} 2\n"
            "queen_batch_items_bucket{le=\"2\"} 3\n"
            "queen_batch_items_bucket{le=\"4\"} 4\n"
            "queen_batch_items_bucket{le=\"8\"} 5\n"
            "queen_batch_items_bucket{le=\"+Inf\"} 6\n"
            "queen_batch_items_sum 24\n"
            "queen_batch_items_count 6\n"
            "# HELP queen_load Load.\n"
            "# TYPE queen_load gauge\n"
            "queen_load 0.25\n");
}

TEST(Prometheus, MicrosecondsAreShownAsSeconds) {
  Registry registry(1);
  registry.AddHistogram("queen_wait_seconds", "Waits.", kMicrosAsSeconds, {{"op", "pop"}})
      .of(0)
      .Record(1'500'000);
  const std::string text = RenderPrometheus(registry);
  for (const char* line :
       {"queen_wait_seconds_bucket{op=\"pop\",le=\"6.4e-05\"} 0\n",
        "queen_wait_seconds_bucket{op=\"pop\",le=\"1.048576\"} 0\n",
        "queen_wait_seconds_bucket{op=\"pop\",le=\"2.097152\"} 1\n",
        "queen_wait_seconds_bucket{op=\"pop\",le=\"67.108864\"} 1\n",
        "queen_wait_seconds_bucket{op=\"pop\",le=\"+Inf\"} 1\n",
        "queen_wait_seconds_sum{op=\"pop\"} 1.5\n", "queen_wait_seconds_count{op=\"pop\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(Prometheus, EscapesHelpAndLabels) {
  Registry registry(1);
  registry.AddComputed(Kind::kGauge, "queen_odd", "A \"quote\", a \\ and a\nbreak.",
                       [] { return 0.0; }, {{"path", "C:\\x\"y\"\n\xC3\xA9"}});
  EXPECT_EQ(RenderPrometheus(registry),
            "# HELP queen_odd A \"quote\", a \\\\ and a\\nbreak.\n"
            "# TYPE queen_odd gauge\n"
            "queen_odd{path=\"C:\\\\x\\\"y\\\"\\n\xC3\xA9\"} 0\n");
}

TEST(Prometheus, NumbersThatAreNone) {
  Registry registry(1);
  using Limits = std::numeric_limits<double>;
  registry.AddComputed(Kind::kGauge, "queen_a", "A.", [] { return Limits::quiet_NaN(); });
  registry.AddComputed(Kind::kGauge, "queen_b", "B.", [] { return -Limits::infinity(); });
  const std::string text = RenderPrometheus(registry);
  EXPECT_NE(text.find("queen_a NaN\n"), std::string::npos);
  EXPECT_NE(text.find("queen_b -Inf\n"), std::string::npos);
}

}  // namespace
}  // namespace queen::metrics
