#include "api/health.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

class HealthTest : public ApiTest {
 protected:
  HealthTest() {
    context_.health.server = "queen \"1\"";
    context_.health.version = "1.2.3";
    context_.health.worker_id = 4;
    context_.health.check = [this] {
      ++checks_;
      return health_;
    };
  }

  Health health_;
  int checks_ = 0;
};

TEST_F(HealthTest, LivezAsksNobody) {
  EXPECT_EQ(Ask("GET", "/livez"), R"(200 {"status":"alive"})");
  EXPECT_EQ(checks_, 0);
}

TEST_F(HealthTest, Readyz) {
  health_.readiness = Status::Ok();
  EXPECT_EQ(Ask("GET", "/readyz"), R"(200 {"status":"ready"})");
  health_.readiness = Status(Code::kShuttingDown);
  EXPECT_EQ(Ask("GET", "/readyz"),
            R"~(503 {"status":"unready","error":"The broker is shutting down: Connection refused )~"
            R"~((ECONNREFUSED)","code":"shutting_down"})~");
}

TEST_F(HealthTest, Healthy) {
  health_.database_connected = true;
  health_.shared_state = R"({"enabled":true,"peers":2})";
  EXPECT_EQ(Ask("GET", "/health"),
            R"(200 {"status":"healthy","database":"connected","server":"queen \"1\"",)"
            R"("worker_id":4,"version":"1.2.3","shared_state":{"enabled":true,"peers":2},)"
            R"("queen":{"worker_id":4,"status":"healthy"}})");
}

TEST_F(HealthTest, Unhealthy) {
  EXPECT_EQ(Ask("GET", "/health"),
            R"(503 {"status":"unhealthy","database":"disconnected","server":"queen \"1\"",)"
            R"("worker_id":4,"version":"1.2.3","shared_state":{"enabled":false},)"
            R"("queen":{"worker_id":4,"status":"unhealthy"},)"
            R"~("error":"PostgreSQL cannot be reached: Connection refused (ECONNREFUSED)",)~"
            R"("code":"database_unavailable"})");
}

TEST_F(HealthTest, SaysWhatAPersonHasToPutRight) {
  health_.database_problem = "PostgreSQL refuses the password";
  EXPECT_NE(Ask("GET", "/health").find(R"("error":"PostgreSQL refuses the password: Connection)"),
            std::string::npos);
}

}  // namespace
}  // namespace queen::api
