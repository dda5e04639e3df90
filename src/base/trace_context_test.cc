#include "base/trace_context.h"

#include <gtest/gtest.h>

#include <vector>

namespace queen {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, ReadsAndWritesVersion00) {
  const auto context = TraceContext::Parse(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id[0], 0x4b);
  EXPECT_EQ(context->trace_id[15], 0x36);
  EXPECT_EQ(context->span_id[1], 0xf0);
  EXPECT_TRUE(context->valid());
  EXPECT_TRUE(context->sampled());
  EXPECT_EQ(context->ToTraceparent(), kGood);
  EXPECT_FALSE(TraceContext().valid());
}

// The cases of the specification (W3C Trace Context, "traceparent header").
TEST(TraceContext, FollowsTheRulesForTraceparent) {
  const std::string ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
  struct Case {
    std::string text;
    std::string_view written;  // "" = ignored
  };
  const std::string_view sampled = kGood;
  const std::string_view unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
  const std::vector<Case> cases = {
      {"00-" + ids + "-01", sampled},
      {"00-" + ids + "-00", unsampled},
      {"00-" + ids + "-ff", sampled},  // unknown flags are ignored, and written as zero
      {"00-" + ids + "-02", unsampled},
      {"cc-" + ids + "-01", sampled},  // a later version, no longer than ours
      {"cc-" + ids + "-01-what-comes-later", sampled},
      {"cc-" + ids + "-01-", sampled},
      {"cc-" + ids + "-01.what-comes", ""},
      {"cc-" + ids + "-011", ""},
      {"ff-" + ids + "-01", ""},   // the version that never will be
      {"00-" + ids + "-01-", ""},  // version 00 ends here
      {"00-" + ids + "-01 ", ""},
      {" 00-" + ids + "-01", ""},
      {"00-" + ids + "-1", ""},
      {"00-" + ids, ""},
      {"0-" + ids + "-01", ""},
      {"0x-" + ids + "-01", ""},
      {"00-" + ids + "-0x", ""},
      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
      {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e473.-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b.-01", ""},
      {"00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", ""},
      {"", ""},
      {std::string(55, '-'), ""},
  };
  for (const Case& one : cases) {
    const auto context = TraceContext::Parse(one.text);
    EXPECT_EQ(context ? context->ToTraceparent() : "", one.written) << one.text;
  }
}

TEST(TraceContext, FollowsTheRulesForTracestate) {
  const std::string long_key(256, 'a');
  const std::string long_value(256, 'v');
  std::string many = "a=1";
  for (int i = 0; i < 31; ++i) many += ",a" + std::to_string(i) + "=1";
  const std::vector<std::string> good = {
      "rojo=00f067aa0ba902b7",
      "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
      "rojo=1 , congo=2",
      "rojo=1,,congo=2,",
      "tenant@vendor=x",
      "0tenant@vendor=x",
      "a_-*/0=b c!",
      "a= b",
      many,
      std::string(256, 'a') + "=" + std::string(255, 'v'),
  };
  for (const std::string& text : good) EXPECT_TRUE(IsTracestate(text)) << text;
  const std::vector<std::string> bad = {
      "",
      ",",
      "rojo",
      "=1",
      "rojo=",
      "Rojo=1",
      "0rojo=1",
      "rojo=a=b",
      "t@=1",
      "@v=1",
      "t@v@w=1",
      "t@0v=1",
      "rojo =1",
      "r=\x01",
      "r=\xc3\xa9",
      many + ",z=1",
      "aa" + long_key + "=1",
      "a=v" + long_value,
      "t@" + std::string(15, 'v') + "=1",
      std::string(242, 't') + "@v=1",
      "a=" + long_value + ",b=" + long_value,
  };
  for (const std::string& text : bad) EXPECT_FALSE(IsTracestate(text)) << text;
}

}  // namespace
}  // namespace queen
