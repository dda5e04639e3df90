#include "base/log.h"

#include <gtest/gtest.h>

namespace queen::log {
namespace {

constexpr int64_t kWhen = 1769903999123456;

TEST(Log, TextQuotesOnlyWhatWouldBeMisread) {
  EXPECT_EQ(FormatLine(Format::kText, Level::kInfo, kWhen, "listening",
                       {{"url", "http://localhost:6632"}, {"workers", 2}, {"why", "two words"}}),
            "2026-01-31T23:59:59.123Z info  listening url=http://localhost:6632 workers=2 "
            "why=\"two words\"");
}

TEST(Log, JsonIsValidWhateverTheValues) {
  EXPECT_EQ(FormatLine(Format::kJson, Level::kError, kWhen, "a \"quote\"",
                       {{"ok", false}, {"ratio", 0.25}, {"text", "line\nbreak"}}),
            R"({"time":"2026-01-31T23:59:59.123Z","level":"error","message":"a \"quote\"",)"
            R"("ok":false,"ratio":0.25,"text":"line\nbreak"})");
}

TEST(Log, LinesLeftOutAreCounted) {
  EXPECT_EQ(FormatLine(Format::kText, Level::kWarn, kWhen, "full", {{"free", 1}}, 7),
            "2026-01-31T23:59:59.123Z warn  full free=1 left_out=7");
}

TEST(RateLimit, OneLineOfAMessageInItsTime) {
  RateLimit limit;
  EXPECT_EQ(limit.Take("full", 5), 0);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(limit.Take("full", 5 + i), std::nullopt);
  EXPECT_EQ(limit.Take("lost", 6), 0) << "another message is not held back";
  EXPECT_EQ(limit.Take("full", 5 + kRarelyMs - 1), std::nullopt);
  EXPECT_EQ(limit.Take("full", 5 + kRarelyMs), 1'001);
  EXPECT_EQ(limit.Take("full", 6 + kRarelyMs), std::nullopt);
  EXPECT_EQ(limit.Take("full", 6 + 2 * kRarelyMs), 1);
}

TEST(Log, LevelsFilter) {
  Configure(Level::kWarn, Format::kText);
  EXPECT_FALSE(Enabled(Level::kInfo));
  EXPECT_TRUE(Enabled(Level::kError));
  Configure(Level::kOff, Format::kText);
  EXPECT_FALSE(Enabled(Level::kError));
  Configure(Level::kInfo, Format::kText);
}

}  // namespace
}  // namespace queen::log
