// Which addresses are of this machine only.

#include "config/reach.h"

#include <gtest/gtest.h>

namespace queen::config {
namespace {

TEST(ReachTest, OnlyLoopbackIsThisMachine) {
  for (const char* hosts : {"127.0.0.1", "127.0.0.1,::1", "localhost", "127.8.9.10",
                            " ::1 , 127.0.0.2", "::ffff:127.0.0.1", "[::1]"}) {
    EXPECT_FALSE(IsReachedFromElsewhere(hosts)) << hosts;
  }
  for (const char* hosts : {"0.0.0.0", "::", "127.0.0.1,10.0.0.1", "192.168.1.1", "::ffff:10.0.0.1",
                            "queen.example", "localhost.example", "fe80::1", "127.1", "0"}) {
    EXPECT_TRUE(IsReachedFromElsewhere(hosts)) << hosts;
  }
}

}  // namespace
}  // namespace queen::config
