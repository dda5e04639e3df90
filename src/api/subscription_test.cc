#include "api/subscription.h"

#include <gtest/gtest.h>

#include "api/timestamp.h"
#include "base/clock.h"

namespace queen::api {
namespace {

using sidecar::StartMode;

// The time in our own format, "" for what is none.
std::string Normal(std::string_view text) {
  const auto micros = ParseTimestamp(text);
  return micros ? FormatTimestamp(*micros) : "";
}

TEST(Timestamp, ReadsRfc3339WithAnyOffset) {
  const std::string expected = "2026-01-31T22:30:05.000000Z";
  EXPECT_EQ(Normal("2026-01-31T22:30:05Z"), expected);
  EXPECT_EQ(Normal("2026-01-31t22:30:05z"), expected);
  EXPECT_EQ(Normal("2026-01-31 22:30:05Z"), expected);
  EXPECT_EQ(Normal("2026-02-01T00:30:05+02:00"), expected);
  EXPECT_EQ(Normal("2026-02-01T00:30:05 02:00"), expected);  // '+' of a query, not encoded
  EXPECT_EQ(Normal("2026-01-31T17:00:05-05:30"), expected);
  EXPECT_EQ(Normal("2026-01-31T22:30:05-00:00"), expected);
  EXPECT_EQ(Normal("2026-02-01T22:29:05+23:59"), expected);
}

TEST(Timestamp, ReadsFractionsOfAnyLength) {
  EXPECT_EQ(Normal("2026-01-31T22:30:05.1Z"), "2026-01-31T22:30:05.100000Z");
  EXPECT_EQ(Normal("2026-01-31T22:30:05.123456Z"), "2026-01-31T22:30:05.123456Z");
  EXPECT_EQ(Normal("2026-01-31T22:30:05.123456000Z"), "2026-01-31T22:30:05.123456Z");
  EXPECT_EQ(Normal("2026-01-31T22:30:05.123456001Z"), "2026-01-31T22:30:05.123457Z");
  EXPECT_EQ(Normal("2026-01-31T22:30:05.9999999Z"), "2026-01-31T22:30:06.000000Z");
}

TEST(Timestamp, ReadsDatesAndEdges) {
  EXPECT_EQ(Normal("2024-02-29"), "2024-02-29T00:00:00.000000Z");
  EXPECT_EQ(Normal("1970-01-01"), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(Normal("1969-12-31T23:59:59.5Z"), "1969-12-31T23:59:59.500000Z");
  EXPECT_EQ(Normal("9999-12-31T23:59:59Z"), "9999-12-31T23:59:59.000000Z");
  EXPECT_EQ(Normal("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00.000000Z");
}

TEST(Timestamp, RefusesTheRest) {
  for (const std::string_view text : {"",
                                      "now",
                                      "2026",
                                      "2026-1-1",
                                      "2023-02-29",
                                      "2026-13-01",
                                      "2026-00-10",
                                      "2026-01-00",
                                      "2026-01-31T",
                                      "2026-01-31T22:30Z",
                                      "2026-01-31T22:30:05",
                                      "2026-01-31T24:00:00Z",
                                      "2026-01-31T22:60:00Z",
                                      "2026-01-31T22:30:61Z",
                                      "2026-01-31T22:30:05.Z",
                                      "2026-01-31T22:30:05+2:00",
                                      "2026-01-31T22:30:05+0200",
                                      "2026-01-31T22:30:05+24:00",
                                      "2026-01-31T22:30:05Zx",
                                      " 2026-01-31",
                                      "2026-01-31 ",
                                      "-026-01-31",
                                      "1769898605"}) {
    EXPECT_EQ(Normal(text), "") << text;
  }
}

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'769'898'605 * kSecond + 7;

TEST(Subscription, ModesHaveSynonyms) {
  const auto mode = [](std::optional<std::string_view> text) {
    return ParseSubscription(text, std::nullopt, kNow)->mode;
  };
  EXPECT_EQ(mode(std::nullopt), StartMode::kAll);
  EXPECT_EQ(mode("all"), StartMode::kAll);
  EXPECT_EQ(mode("from_beginning"), StartMode::kAll);
  EXPECT_EQ(mode("new"), StartMode::kNew);
  EXPECT_EQ(mode("new-only"), StartMode::kNew);
  for (const std::string_view text : {"", "New", "latest"}) {
    const auto result = ParseSubscription(text, std::nullopt, kNow);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().message(),
              "subscriptionMode must be all, from_beginning, new or new-only");
  }
}

TEST(Subscription, FromWinsOverTheMode) {
  const auto from = [](std::string_view text) { return *ParseSubscription("all", text, kNow); };
  EXPECT_EQ(from("now"), (Subscription{.mode = StartMode::kNew}));
  EXPECT_EQ(from("1970-01-02"), (Subscription{StartMode::kTime, 86400 * kSecond}));
  EXPECT_EQ(from("1970-01-01T00:00:01.5Z"), (Subscription{StartMode::kTime, 1'500'000}));
  EXPECT_EQ(from("1066-10-14"), (Subscription{StartMode::kTime, 0}));
  EXPECT_EQ(*ParseSubscription("new", "1970-01-02", kNow),
            (Subscription{StartMode::kTime, 86400 * kSecond}));
}

TEST(Subscription, CountsBackFromNow) {
  const auto ago = [](std::string_view text) {
    return kNow - ParseSubscription(std::nullopt, text, kNow)->micros;
  };
  EXPECT_EQ(ago("0s ago"), 0);
  EXPECT_EQ(ago("90s ago"), 90 * kSecond);
  EXPECT_EQ(ago("15m ago"), 900 * kSecond);
  EXPECT_EQ(ago("1h ago"), 3600 * kSecond);
  EXPECT_EQ(ago("7d ago"), int64_t{7} * 86400 * kSecond);
  EXPECT_EQ(ago("1000000d ago"), kNow);
  EXPECT_EQ(ago("99999999999999999999999d ago"), kNow);
}

TEST(Subscription, RefusesTheRest) {
  for (const std::string_view text :
       {"", "yesterday", "Now", "5 ago", "h ago", "-1h ago", "+1h ago", "1w ago", "1.5h ago",
        "1hago", "1h  ago", "1h ago ", " ago", "ago", "2026-01-31T22:30:05"}) {
    const auto result = ParseSubscription(std::nullopt, text, kNow);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), Code::kInvalidRequest);
    EXPECT_TRUE(result.status().message().starts_with("subscriptionFrom must be ")) << text;
  }
}

}  // namespace
}  // namespace queen::api
