#include "api/lease.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using sidecar::RenewResult;

constexpr std::string_view kLease = "0190a6e2-5b1c-7abc-8def-0123456789ab";
constexpr std::string_view kPath = "/api/v1/lease/0190a6e2-5b1c-7abc-8def-0123456789ab/extend";

class LeaseTest : public ApiTest {};

TEST_F(LeaseTest, TheBodyMayBeMissing) {
  for (const std::string_view body :
       {"", " \n", "{}", "[]", "null", R"({"seconds":null})", R"({"x":1})"}) {
    Send("POST", kPath, body);
    ASSERT_EQ(engine_.renews.size(), 1U) << body;
    EXPECT_EQ(engine_.renews.back().seconds, 0);
    EXPECT_EQ(engine_.renews.back().lease_id, Uuid::Parse(kLease));
    engine_.renews.clear();
  }
}

TEST_F(LeaseTest, Seconds) {
  const auto seconds = [](std::string_view body) { return *ParseExtendLease(body); };
  EXPECT_EQ(seconds(R"({"seconds":0})"), 0);
  EXPECT_EQ(seconds(R"({"seconds":90})"), 90);
  EXPECT_EQ(seconds(R"({"seconds":90.0})"), 90);
  EXPECT_EQ(seconds(R"({"seconds":1,"seconds":2})"), 2);
  EXPECT_EQ(seconds(R"({"seconds":9223372036854775807})"), 31'536'000);
}

TEST_F(LeaseTest, BadBodies) {
  EXPECT_EQ(Ask("POST", kPath, "5"), Refusal("The body must be an object"));
  EXPECT_EQ(Ask("POST", kPath, R"({"seconds":"60"})"), Refusal("seconds must be a whole number"));
  EXPECT_EQ(Ask("POST", kPath, R"({"seconds":9223372036854775808})"),
            Refusal("seconds must be a whole number of at most 64 bits"));
  EXPECT_EQ(Ask("POST", kPath, R"({"seconds":-1})"), Refusal("seconds must not be negative"));
  EXPECT_TRUE(Ask("POST", kPath, "{").starts_with(R"(400 {"error":"Invalid JSON at byte )"));
  EXPECT_TRUE(engine_.renews.empty());
}

TEST_F(LeaseTest, TellsTheExpiryInEverySpelling) {
  Send("POST", kPath);
  engine_.renew_done(
      RenewResult{.state = RenewResult::State::kRenewed, .until_micros = 1'769'898'605'000'042});
  EXPECT_EQ(Answer(),
            R"(200 {"leaseId":"0190a6e2-5b1c-7abc-8def-0123456789ab","success":true,"error":null,)"
            R"("expiresAt":"2026-01-31T22:30:05.000042Z",)"
            R"("newExpiresAt":"2026-01-31T22:30:05.000042Z",)"
            R"("lease_expires_at":"2026-01-31T22:30:05.000042Z"})");
}

TEST_F(LeaseTest, LostLeases) {
  Send("POST", kPath);
  engine_.renew_done(RenewResult{.state = RenewResult::State::kExpired});
  EXPECT_EQ(Answer(), R"(404 {"leaseId":"0190a6e2-5b1c-7abc-8def-0123456789ab","success":false,)"
                      R"("error":"Lease already expired","expiresAt":null,"newExpiresAt":null,)"
                      R"("lease_expires_at":null})");
  Send("POST", kPath);
  engine_.renew_done(RenewResult{.state = RenewResult::State::kUnknown});
  EXPECT_NE(Answer().find(R"("error":"Lease not found")"), std::string::npos);
  EXPECT_EQ(Ask("POST", "/api/v1/lease/a%22b/extend"),
            R"(404 {"leaseId":"a\"b","success":false,"error":"Lease not found","expiresAt":null,)"
            R"("newExpiresAt":null,"lease_expires_at":null})");
  EXPECT_EQ(engine_.renews.size(), 2U);
}

TEST_F(LeaseTest, AFailureOfTheEngine) {
  Send("POST", kPath);
  engine_.renew_done(Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(response().status, 503);
}

}  // namespace
}  // namespace queen::api
