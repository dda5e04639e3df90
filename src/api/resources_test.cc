#include "api/resources.h"

#include <gtest/gtest.h>

#include "api/environment.h"
#include "api/test_api.h"

namespace queen::api {
namespace {

class ResourcesTest : public ApiTest {};

TEST_F(ResourcesTest, DeletesAQueue) {
  Send("DELETE", "/api/v1/resources/queues/a%2Fb");
  ASSERT_EQ(manager_.deletion.requests, std::vector<std::string>{"a/b"});
  manager_.deletion.done(true);
  EXPECT_EQ(Answer(), R"(200 {"deleted":true,"queue":"a/b","existed":true})");
  EXPECT_EQ(engine_.changed, std::vector<std::string>{"a/b"});
}

TEST_F(ResourcesTest, DeletesAPartition) {
  Send("DELETE", "/api/v1/resources/queues/q/partitions/p");
  ASSERT_EQ(manager_.deletion.requests, std::vector<std::string>{"q/p"});
  manager_.deletion.done(false);
  EXPECT_EQ(Answer(), R"(200 {"deleted":true,"queue":"q","partition":"p","existed":false})");
  EXPECT_EQ(engine_.changed, std::vector<std::string>{"q"});
}

TEST_F(ResourcesTest, AFailureMayHaveChangedIt) {
  Send("DELETE", "/api/v1/resources/queues/q");
  manager_.deletion.done(Status(Code::kOutcomeUnknown));
  EXPECT_EQ(response().status, 503);
  EXPECT_EQ(engine_.changed, std::vector<std::string>{"q"});
}

TEST_F(ResourcesTest, BadNames) {
  EXPECT_EQ(Ask("DELETE", "/api/v1/resources/queues/a%01"),
            Refusal("queue must not contain control characters"));
  EXPECT_TRUE(manager_.deletion.requests.empty());
}

TEST_F(ResourcesTest, TheEnvironmentIsReportedWhenTheDisksHaveAnswered) {
  DisksDone answer;
  context_.disks = [&](DisksDone done) { answer = std::move(done); };
  Send("GET", "/api/v1/system/environment");
  EXPECT_TRUE(manager_.report.requests.empty()) << "a disk that hangs holds up nobody else";
  answer("[]");
  ASSERT_EQ(manager_.report.requests, std::vector<std::string>{"report_environment"});
  manager_.report.done(std::string("{}"));
  EXPECT_EQ(Answer(), "200 {}");
}

TEST(Disks, AreDescribedWhereTheyAre) {
  const std::string disks = DescribeDisks({"/", "/no such directory"});
  EXPECT_TRUE(disks.starts_with(R"([{"path":"/","freeBytes":)")) << disks;
  EXPECT_EQ(disks.find("no such"), std::string::npos);
}

}  // namespace
}  // namespace queen::api
