// Buckets at their edges, clients apart from one another, and a table that does not grow.
#include "http/client_limits.h"

#include <gtest/gtest.h>

#include "http/peer.h"

namespace queen::http {
namespace {

constexpr int64_t kSecond = 1'000'000;

TEST(ClientLimits, ASecondsWorthAtOnceAndThenTheRate) {
  ClientLimits limits({.requests_per_second = 10, .bytes_per_second = 0, .connections_max = 0});
  int64_t now = 5 * kSecond;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limits.Take("a", 0, now).admitted) << i;
  const auto refused = limits.Take("a", 0, now);
  EXPECT_FALSE(refused.admitted);
  EXPECT_FALSE(refused.for_bytes);
  EXPECT_GE(refused.retry_after_ms, 100);
  EXPECT_LE(refused.retry_after_ms, 101);
  EXPECT_TRUE(limits.Take("b", 0, now).admitted) << "another client";
  now += refused.retry_after_ms * 1000;
  EXPECT_TRUE(limits.Take("a", 0, now).admitted) << "when it was told to come again";
  EXPECT_FALSE(limits.Take("a", 0, now).admitted);
  EXPECT_EQ(limits.refused_requests(), 2U);
  // Whatever it tries, ten pass in each second.
  int admitted = 0;
  for (int64_t end = now + 100 * kSecond; now < end; now += kSecond / 1000) {
    admitted += limits.Take("a", 0, now).admitted ? 1 : 0;
  }
  EXPECT_NEAR(admitted, 1000, 11);
}

TEST(ClientLimits, ALargeBodyPassesAndIsPaidFor) {
  ClientLimits limits({.requests_per_second = 0, .bytes_per_second = 1000, .connections_max = 0});
  const int64_t now = kSecond;
  EXPECT_TRUE(limits.Take("a", 5000, now).admitted) << "a full bucket lets in more than it holds";
  const auto refused = limits.Take("a", 500, now);
  EXPECT_FALSE(refused.admitted);
  EXPECT_TRUE(refused.for_bytes);
  EXPECT_NEAR(static_cast<double>(refused.retry_after_ms), 4500, 2);
  EXPECT_TRUE(limits.Take("a", 0, now).admitted) << "without a body";
  EXPECT_FALSE(limits.Take("a", 500, now + 4 * kSecond).admitted);
  EXPECT_TRUE(limits.Take("a", 500, now + 4 * kSecond + 501'000).admitted);
  EXPECT_EQ(limits.refused_bytes(), 2U);
}

TEST(ClientLimits, TheTableIsBounded) {
  ClientLimits limits({.requests_per_second = 1, .bytes_per_second = 0, .connections_max = 0});
  int64_t now = kSecond;
  for (size_t i = 0; i < 2 * ClientLimits::kClientsMax; ++i) {
    limits.Take("client " + std::to_string(i), 0, now);
  }
  EXPECT_LE(limits.clients(), ClientLimits::kClientsMax);
  // Once their buckets are full again they make room.
  now += 10 * kSecond;
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) {
    admitted += limits.Take("new " + std::to_string(i), 0, now).admitted ? 1 : 0;
  }
  EXPECT_EQ(admitted, 1000);
}

TEST(ClientLimits, Connections) {
  ClientLimits limits({.requests_per_second = 0, .bytes_per_second = 0, .connections_max = 2});
  EXPECT_FALSE(limits.limits_rates());
  EXPECT_TRUE(limits.TakeConnection("a"));
  EXPECT_TRUE(limits.TakeConnection("a"));
  EXPECT_FALSE(limits.TakeConnection("a"));
  EXPECT_TRUE(limits.TakeConnection("b"));
  limits.ReturnConnection("a");
  EXPECT_TRUE(limits.TakeConnection("a"));
  EXPECT_EQ(limits.refused_connections(), 1U);
}

TEST(Peer, OneClientHasANetworkOfIPv6) {
  EXPECT_EQ(ClientNetworkOf("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(ClientNetworkOf("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(ClientNetworkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(ClientNetworkOf("2001:db8:1:2:ffff::1"), "2001:db8:1:2::/64");
  EXPECT_EQ(ClientNetworkOf(""), "");
}

}  // namespace
}  // namespace queen::http
