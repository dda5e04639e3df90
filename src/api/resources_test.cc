#include "api/resources.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace queen::api
