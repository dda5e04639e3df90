#include "api/maintenance.h"

#include "api/test_api.h"

namespace queen::api {
namespace {

constexpr std::string_view kPushPath = "/api/v1/system/maintenance";
constexpr std::string_view kPopPath = "/api/v1/system/maintenance/pop";

class MaintenanceTest : public ApiTest {
 protected:
  MaintenanceTest() {
    context_.maintenance = [this] { return status_; };
  }

  MaintenanceStatus status_;
};

TEST_F(MaintenanceTest, TellsWhatThereIs) {
  const std::string_view nothing =
      R"(200 {"maintenanceMode":false,"popMaintenanceMode":false,"bufferedMessages":0,)"
      R"("bufferHealthy":false,"bufferStats":{"pendingCount":0,"failedCount":0,)"
      R"("dbHealthy":false,"failedFiles":{"count":0,"totalBytes":0}}})";
  EXPECT_EQ(Ask("GET", kPushPath), nothing);
  EXPECT_EQ(Ask("GET", kPopPath), nothing);
  status_ = {.push_paused = true,
             .pop_paused = true,
             .buffered_messages = 3,
             .buffer_healthy = true,
             .failed_messages = 4,
             .failed_files = 1,
             .failed_bytes = 500,
             .database_up = true};
  EXPECT_EQ(Ask("GET", kPushPath),
            R"(200 {"maintenanceMode":true,"popMaintenanceMode":true,"bufferedMessages":3,)"
            R"("bufferHealthy":true,"bufferStats":{"pendingCount":3,"failedCount":4,)"
            R"("dbHealthy":true,"failedFiles":{"count":1,"totalBytes":500}}})");
}

TEST_F(MaintenanceTest, ASwitchIsAnsweredWhenItIsRecorded) {
  for (const auto& [path, mode] : {std::pair(kPushPath, state::MaintenanceMode::kPush),
                                   std::pair(kPopPath, state::MaintenanceMode::kPop)}) {
    Send("POST", path, R"({"enabled":true})");
    EXPECT_FALSE(answered());
    EXPECT_EQ(manager_.maintenance.requests.back(), std::pair(mode, true));
    status_.push_paused = true;
    manager_.maintenance.done(true);
    EXPECT_EQ(Answer(), "200 " + WriteMaintenance(status_));
  }
  Send("POST", kPushPath, R"({"enabled":false})");
  EXPECT_EQ(manager_.maintenance.requests.back(), std::pair(state::MaintenanceMode::kPush, false));
  manager_.maintenance.done(Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(response().status, 503);
}

TEST_F(MaintenanceTest, AnythingElseIsRefused) {
  for (const std::string_view body :
       {"", "{}", "null", "[]", "true", R"({"enabled":null})", R"({"enabled":1})",
        R"({"enabled":"true"})", R"({"enabled":[true]})", R"({"Enabled":true})"}) {
    EXPECT_EQ(Ask("POST", kPushPath, body), Refusal("enabled must be true or false")) << body;
    EXPECT_EQ(Ask("POST", kPopPath, body), Refusal("enabled must be true or false")) << body;
  }
  Send("POST", kPushPath, "{");
  EXPECT_EQ(response().status, 400);
  EXPECT_EQ(Ask("DELETE", kPushPath).substr(0, 3), "405");
}

}  // namespace
}  // namespace queen::api
