#include "metrics/process_stats.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "metrics/prometheus.h"

namespace queen::metrics {
namespace {

TEST(ProcessStats, CountsOpenDescriptors) {
  const uint64_t before = OpenFileDescriptors();
  EXPECT_GE(before, 3u);
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(OpenFileDescriptors(), before + 1);
  close(descriptor);
  EXPECT_EQ(OpenFileDescriptors(), before);
  EXPECT_GE(FileDescriptorLimit(), before);
}

TEST(ProcessStats, ProcessorTimeRises) {
  const CpuTimes before = ProcessCpuTimes();
  CpuTimes now = before;
  while (now.user_seconds + now.system_seconds <= before.user_seconds + before.system_seconds) {
    now = ProcessCpuTimes();
  }
  EXPECT_GE(now.user_seconds, before.user_seconds);
  EXPECT_GE(now.system_seconds, before.system_seconds);
}

TEST(ProcessStats, MemoryIsInBytes) { EXPECT_GT(ResidentBytes(), 500'000u); }

TEST(ProcessStats, AreRegistered) {
  Registry registry(1);
  RegisterProcessMetrics(registry);
  const std::string text = RenderPrometheus(registry);
  for (const char* start :
       {"queen_process_cpu_seconds_total{mode=\"user\"} ",
        "queen_process_cpu_seconds_total{mode=\"system\"} ", "queen_process_resident_memory_bytes ",
        "queen_process_open_fds ", "queen_process_max_fds ", "queen_process_start_time_seconds "}) {
    EXPECT_NE(text.find(std::string("\n") + start), std::string::npos) << start;
  }
}

}  // namespace
}  // namespace queen::metrics
