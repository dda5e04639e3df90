// Which Host headers are this broker's, and which pages are its own.
#include "http/host_names.h"

#include <gtest/gtest.h>

namespace queen::http {
namespace {

TEST(HostNames, AddressesAndNamesWithoutADotAreOurs) {
  const HostNames names({});
  for (const char* host : {"localhost", "localhost:6632", "LOCALHOST", "localhost.",
                           "a.localhost:1", "127.0.0.1", "127.0.0.1:6632", "10.1.2.3:80", "[::1]",
                           "[::1]:6632", "[2001:db8::1]:443", "queen", "queen:6632"}) {
    EXPECT_TRUE(names.AreOurs(host)) << host;
  }
}

TEST(HostNames, OtherNamesAreNot) {
  const HostNames names({});
  for (const char* host :
       {"evil.example", "evil.example:6632", "127.0.0.1.evil.example", "localhost.evil.example",
        "evillocalhost.com", "", ":6632", "a:b", "[::1", "[::1].evil.example", "1.2.3.4.5",
        "127.0.0.1:6632:1", "queen.default.svc.cluster.local"}) {
    EXPECT_FALSE(names.AreOurs(host)) << host;
  }
}

TEST(HostNames, WhatTheOperatorNames) {
  const HostNames names({"Queen.Example.org", ".internal", "broker.test."});
  for (const char* host : {"queen.example.org", "QUEEN.example.ORG:80", "queen.example.org.",
                           "a.b.internal:6632", "broker.test"}) {
    EXPECT_TRUE(names.AreOurs(host)) << host;
  }
  for (const char* host :
       {"example.org", "x.queen.example.org", "evilinternal.example", "a.internal.example"}) {
    EXPECT_FALSE(names.AreOurs(host)) << host;
  }
  EXPECT_TRUE(HostNames({"*"}).AreOurs("evil.example"));
}

TEST(HostNames, SameOrigin) {
  EXPECT_TRUE(IsSameOrigin("http://localhost:6632", "localhost:6632"));
  EXPECT_TRUE(IsSameOrigin("https://Queen.example", "queen.example"));
  EXPECT_FALSE(IsSameOrigin("http://localhost:3000", "localhost:6632"));
  EXPECT_FALSE(IsSameOrigin("http://evil.example", "localhost:6632"));
  EXPECT_FALSE(IsSameOrigin("null", "localhost:6632"));
  EXPECT_FALSE(IsSameOrigin("null", ""));
  EXPECT_FALSE(IsSameOrigin("http://", ""));
}

}  // namespace
}  // namespace queen::http
