// How the files of the dashboard are served: caching, compression, and what they may load.

#include "api/dashboard.h"

#include <gtest/gtest.h>

#include <string>

#include "api/test_api.h"

namespace queen::api {
namespace {

std::string HeaderOf(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

class DashboardTest : public ApiTest {};

TEST_F(DashboardTest, ThePageLoadsOnlyWhatTheBrokerServes) {
  Send("GET", "/");
  EXPECT_EQ(response().status, 200);
  EXPECT_EQ(response().content_type, "text/html; charset=utf-8");
  EXPECT_EQ(HeaderOf(response(), "Cache-Control"), "no-cache");
  const std::string policy = HeaderOf(response(), "Content-Security-Policy");
  EXPECT_NE(policy.find("default-src 'none'"), policy.npos);
  EXPECT_EQ(policy.find("unsafe"), policy.npos);
  const std::string page = response().body;
  EXPECT_EQ(page.find("http:"), page.npos);
  EXPECT_EQ(page.find("https:"), page.npos);
  EXPECT_EQ(page.find("<script>"), page.npos);
  size_t hashed = 0;
  for (const DashboardAsset& asset : DashboardAssets()) {
    EXPECT_TRUE(asset.path == "/" || page.find(asset.path) != page.npos) << asset.path;
    hashed += asset.hashed ? 1 : 0;
    Send("GET", asset.path);
    EXPECT_EQ(response().status, 200) << asset.path;
    EXPECT_EQ(response().body, asset.plain);
    EXPECT_EQ(HeaderOf(response(), "Cache-Control"),
              asset.hashed ? "public, max-age=31536000, immutable" : "no-cache");
  }
  EXPECT_EQ(hashed, 2U);
}

TEST_F(DashboardTest, AMissingFileIsNotFound) {
  Send("GET", "/assets/nothing.js");
  EXPECT_EQ(response().status, 404);
}

TEST_F(DashboardTest, GzipIsMadeAtBuildTime) {
  size_t bytes = 0;
  for (const DashboardAsset& asset : DashboardAssets()) {
    EXPECT_EQ(asset.gzip.substr(0, 2), "\x1f\x8b") << asset.path;
    bytes += asset.gzip.size();
  }
  EXPECT_LT(bytes, 400'000U);
}

TEST(AcceptsGzipTest, ReadsTheHeader) {
  EXPECT_TRUE(AcceptsGzip("gzip"));
  EXPECT_TRUE(AcceptsGzip("deflate, GZIP;q=0.5 ,br"));
  EXPECT_TRUE(AcceptsGzip("br , gzip ; q=1"));
  EXPECT_FALSE(AcceptsGzip(""));
  EXPECT_FALSE(AcceptsGzip("identity"));
  EXPECT_FALSE(AcceptsGzip("gzip;q=0"));
  EXPECT_FALSE(AcceptsGzip("gzip; q=0.000, br"));
  EXPECT_FALSE(AcceptsGzip("xgzip, ,,"));
}

}  // namespace
}  // namespace queen::api
